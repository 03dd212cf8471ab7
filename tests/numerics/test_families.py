from fractions import Fraction

import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import (
    FAMILIES,
    Scheme,
    family,
    from_roots,
    leapfrog,
    lm,
    momentum,
    zerosnet,
)


@pytest.mark.parametrize(
    "text, coefficients",
    [
        ("zerosnet(-9/5)", "1/3,5/9,1/9;16/9"),
        ("ZeroSNet( 10 )", "33/40,-1/10,11/40;29/20"),
        ("lm(1/2)", "1/2,1/2;3/2"),
        ("lm(1/2, beta=paper)", "1/2,1/2;2"),
        ("lm(1/2,paper)", "1/2,1/2;2"),
        ("lm(1/2, original)", "1/2,1/2;1"),
        ("euler(1)", "1;1"),
        ("euler(0.5)", "1/2;1"),
        ("momentum(0.9)", "1.9,-0.9;0.1"),
        ("leapfrog", "0,1;2"),
        ("leapfrog()", "0,1;2"),
        ("adams-bashforth(3)", "1;23/12,-4/3,5/12"),
        ("adams_bashforth(2)", "1;3/2,-1/2"),
        ("ab3", "1;23/12,-4/3,5/12"),
        ("from-roots(-1/3,-1/3)", "1/3,5/9,1/9;16/9"),
        ("from-roots(z^2-z+1/3)", "2,-4/3,1/3;1/3"),
        ("from-roots(z^2 + 1/9)", "1,-1/9,1/9;10/9"),
        ("from-roots()", "1;1"),
    ],
)
def test_members_in_text(text, coefficients):
    assert Scheme.parse(text) == Scheme.parse(coefficients)


@pytest.mark.parametrize(
    "text",
    [
        "zerosnet(0)",
        "zerosnet",
        "zerosnet(1,2)",
        "zerosnet(1/0)",
        "zerosnet(x)",
        "zerosnet(1, beta=paper)",
        "lm(1, best)",
        "lm(k=1, k=2)",
        "lm(1, beta=paper, beta=original)",
        "nosuch(1)",
        "nosuch",
        "",
        "((",
        "ab0",
        "ab9",
        "adams-bashforth(3/2)",
        "from-roots(z^3)",
        "leapfrog(1)",
        "euler()(",
        ";",
        "1;",
        ";1",
        "1,;1",
        "nan;1",
        "1;inf",
        "1/0;1",
    ],
)
def test_bad_text_is_refused_in_one_line(text):
    with pytest.raises(InputError) as caught:
        Scheme.parse(text)
    assert "\n" not in str(caught.value)


def test_an_unknown_family_lists_the_known_ones():
    with pytest.raises(
        InputError, match=r"'rk4'.*euler, lm, zerosnet, leapfrog, momentum, adams-bashforth, from-roots"
    ):
        family("rk4")


def test_families_describe_themselves():
    for name, each in FAMILIES.items():
        assert each.name == name == family(name.upper().replace("-", "_")).name
        assert each.description
        assert "y_{n+1}" in each.formula or r"\rho" in each.formula
        assert bool(each.parameter) == bool(each.symbol)
        assert each.usage.startswith(name)


def test_a_family_is_called_like_a_function():
    assert family("zerosnet")("-9/5") == family("zerosnet").member(Fraction(-9, 5)) == zerosnet("-9/5")
    assert family("lm").member("1/2", beta="paper") == lm("1/2", "paper")
    assert family("from-roots")("1/2", "1/3") == from_roots(["1/2", "1/3"])


def test_a_parameter_may_be_given_by_the_name_that_people_use():
    assert Scheme.parse("zerosnet(lambda=-9/5)") == zerosnet("-9/5")
    assert Scheme.parse("lm(beta=paper, k=1/2)") == lm("1/2", "paper")
    for text in ("zerosnet()", "zerosnet(mu=2)"):
        with pytest.raises(InputError, match=r"missing a required argument: 'lambda'; expected zerosnet\(lambda\)"):
            Scheme.parse(text)
    with pytest.raises(InputError, match="multiple values for argument 'lambda'"):
        Scheme.parse("zerosnet(1, lambda=2)")


def test_parameters_stay_what_they_are():
    assert zerosnet("-1.8").is_exact
    assert not zerosnet(-1.8).is_exact
    assert not lm(0.5).is_exact


def test_leapfrog_is_a_member_of_the_lambda_family():
    scheme = zerosnet(-1)
    assert scheme.alphas == (0, 1, 0)
    assert scheme.betas == leapfrog().betas


def test_lm_with_consistent_beta_is_momentum_with_the_other_sign():
    assert lm("3/7") == momentum("-3/7")


def test_complex_roots_come_with_their_conjugates():
    scheme = from_roots([0.3 + 0.4j, 0.3 - 0.4j])
    assert scheme.betas[0] == pytest.approx(1 - 0.6 + 0.25)
    exact = from_roots([("-0.6", "0.25")])
    assert [float(a) for a in exact.alphas] == pytest.approx(list(scheme.alphas))
    with pytest.raises(InputError, match="conjugate"):
        from_roots([0.3 + 0.4j])
    with pytest.raises(InputError):
        from_roots([complex(0, float("nan"))])


@pytest.mark.parametrize("roots", ["1/2", 0.5, [(1,)], [(1, 2, 3)], [None], 1j])
def test_what_is_no_list_of_roots_is_refused(roots):
    with pytest.raises(InputError):
        from_roots(roots)


def test_domains_tell_which_parameters_have_a_member():
    assert str(family("zerosnet").domain) == "(-oo, 0) U (0, oo)"
    assert 0 not in family("zerosnet").domain
    assert 3 in family("adams-bashforth").domain
