"""The JSON interface of wirings: what is known of gains and mixings has to come out."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi", reason="the explorer's extra is not installed")

from zerosnet.explorer.wiring_query import FORMS, LAYERS
from zerosnet.explorer.wirings import PRESETS
from zerosnet.numerics import STEM, Scheme, Wiring

DRAWN = {"streams": "4", "seed": "1", "write": "all", "read": "turns"}


@pytest.fixture
def ask(client):
    def answer(**query):
        found = client.get("/api/wiring", params=query)
        assert found.status_code == 200, found.json()
        return found.json()

    return answer


def test_gains_of_one_are_eulers_scheme(ask):
    found = ask(form="constant", keep="1", add="1", layers="56")
    shares = [1 / math.sqrt(STEM + n + 1) for n in range(27)]
    assert found["shares"] == pytest.approx(shares)
    assert found["parts"] == pytest.approx([1 / (STEM + 27)] * 27)
    assert found["effective_depth"] == pytest.approx(Wiring.of(Scheme.parse("1;1"), (9, 9, 9)).effective_depth())
    assert found["forward"] == found["backward"] == [0.0] * 28
    assert found["counts"] == [9, 9, 9] and found["second"] is None and found["limit"]["kind"] == "none"


def test_what_shrinks_forgets_and_what_grows_drowns_late_blocks(ask):
    shrinks, grows = ask(keep="1/2"), ask(keep="2")
    assert shrinks["shares"][-1] == pytest.approx(math.sqrt(3) / 2) and shrinks["limit"]["kind"] == "forgets"
    assert grows["shares"][-1] < 1e-6 and grows["limit"]["kind"] == "grows"
    assert grows["forward"][-1] == grows["backward"][0] == pytest.approx(27 * math.log10(2))


def test_lists_go_on_with_their_last_number(ask):
    found = ask(form="lists", keep="1,1/2", add="2", blocks="4")
    assert found["keep"] == [1, 0.5, 0.5, 0.5] and found["add"] == [2] * 4
    assert found["counts"] == [4]


def test_scaled_branches_fall_with_depth_and_small_ones_leave_the_stem(ask):
    assert ask(form="scaled", power="1/2", blocks="4")["add"] == pytest.approx([1, 2**-0.5, 3**-0.5, 0.5])
    assert ask(form="small", add="1/100")["limit"]["kind"] == "stem"


def test_the_first_state_is_one_more_stream(ask):
    found = ask(form="first-state", keep="4/5", first="1/5", add="1", blocks="24")
    assert found["streams"] == 2 and found["first"] == [[0.8, 0.2], [0, 1]]
    assert found["effective_depth"] == pytest.approx(20.5, abs=0.05)  # as docs/wirings.md has it


def test_doubly_stochastic_products_have_gain_one_both_ways(ask):
    found = ask(form="doubly-stochastic", spread="0.7", **DRAWN)
    assert found["forward"] == pytest.approx([0] * 28, abs=1e-12)
    assert found["backward"] == pytest.approx([0] * 28, abs=1e-12)
    assert found["product"]["log10"] == 0
    assert found["product"]["rows"] == [pytest.approx([0.25] * 4, abs=1e-3)] * 4


def test_row_stochastic_streams_become_alike(ask):
    found = ask(form="row-stochastic", spread="0.3", blocks="27", **DRAWN)
    assert found["forward"] == pytest.approx([0] * 28, abs=1e-12)
    assert max(found["backward"]) <= math.log10(4) + 1e-12
    second = found["second"]
    assert second[0] == 1 and second[9] > second[18] > second[27]
    assert second[found["alike_after"]] <= 0.01 < second[found["alike_after"] - 1]


def test_unconstrained_streams_explode_with_the_spread(ask):
    last = [ask(form="free", spread=spread, **DRAWN)["forward"][-1] for spread in ("0", "0.3", "0.6", "1")]
    assert last == sorted(last) and last[0] == 0 and last[-1] > 5
    assert ask(form="free", spread="1", **DRAWN)["limit"]["kind"] == "grows"


def test_without_mixing_streams_are_eulers_scheme(ask):
    euler = ask(form="constant", blocks="24")
    for form in ("free", "row-stochastic", "doubly-stochastic"):
        assert ask(form=form, spread="0", blocks="24", **DRAWN)["shares"] == pytest.approx(euler["shares"])


def test_the_same_seed_is_the_same_answer(ask):
    one, same, other = (ask(form="free", spread="0.3", **DRAWN | {"seed": seed}) for seed in ("3", "3", "4"))
    assert one == same and one["shares"] != other["shares"]


def test_numbers_that_vanish_or_overflow_are_answered(ask):
    for keep, add in (("1e49", "1"), ("1e-49", "1"), ("0", "0"), ("1e-49", "0"), ("1", "1e49")):
        found = ask(form="lists", keep=keep, add=f"{add},0,{add}", blocks="432")
        assert all(0 <= share <= 1 for share in found["shares"])
    assert ask(form="constant", keep="0")["forward"][1:] == [None] * 27
    assert ask(form="matrix", matrix="0,0;0,0")["product"] == {"rows": [[0, 0]] * 2, "log10": None}


@pytest.mark.parametrize("title,query", PRESETS, ids=[title for title, _ in PRESETS])
def test_presets_are_whole_and_python_makes_the_same_wiring(ask, title, query):
    assert set(query) == {"form", *FORMS[query["form"]].defaults}
    found = ask(**query)
    seen = {}
    exec(found["copy"]["python"].replace("print(", "made = ("), seen)
    assert seen["made"] == (pytest.approx(found["effective_depth"]), found["limit"]["sentence"])


@pytest.mark.parametrize(
    "query",
    [
        {"form": "lists", "keep": "1,1/2,0.3", "add": "2", "blocks": "9"},
        {"form": "scaled", "add": "3/2", "power": "1/3", "blocks": "1"},
        {"form": "matrix", "matrix": "1/3,2/3;0,1", "write": "turns", "read": "1,-1/2"},
    ],
)
def test_python_makes_the_same_wiring_from_typed_numbers(ask, query):
    found, seen = ask(**query), {}
    exec(found["copy"]["python"].replace("print(", "made = ("), seen)
    assert seen["made"] == (pytest.approx(found["effective_depth"]), found["limit"]["sentence"])


def test_an_error_names_what_is_accepted(client):
    for query, words in (
        ({"form": "constant", "spread": "1"}, "spread is given for constant; expected keep, add"),
        ({"form": "free", "streams": "9"}, "streams is '9'; expected a whole number from 1 to 8"),
        ({"form": "matrix", "matrix": "1,2;3"}, "expected as many columns as rows, at most 8"),
        ({"form": "row-stochastic", "spread": "2"}, "expected a number from 0 to 1"),
        ({"form": "matrix", "read": "1"}, "expected turns, mean, or 2 numbers with commas"),
    ):
        assert words in client.get("/api/wiring", params=query).json()["error"]


def test_forms_and_starts_are_listed(client):
    found = client.get("/api/wirings").json()
    assert list(found["forms"]) == list(FORMS) and len(found["presets"]) == len(PRESETS)
    assert [one["layers"] for one in found["layers"]] == list(LAYERS)
    assert {one["layers"]: one["blocks"] for one in found["layers"]}[56] == 27


NUMBERS = st.sampled_from(["0", "1", "-1", "1/3", "1e49", "-1e-49", "0.5", "nan", "1,2", "1,2,3,4", "", "all", "turns"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(form=st.sampled_from(list(FORMS)), data=st.data())
def test_whatever_numbers_a_form_gets_the_server_does_not_fail(client, form, data):
    names = st.sampled_from([*FORMS[form].defaults, "blocks"])
    query = data.draw(st.dictionaries(names, st.one_of(NUMBERS, st.text(max_size=8)), max_size=4))
    matrix = {"matrix": data.draw(st.sampled_from(["1", "0,0;0,0", "1,-1e49;1e49,0", "1;", "1,2"]))}
    answer = client.get("/api/wiring", params={"form": form} | query | (matrix if form == "matrix" else {}))
    assert answer.status_code in (200, 422)
    if answer.status_code == 422:
        assert "\n" not in answer.json()["error"] and answer.json()["parameter"]
