"""The best steps beta_n: parts of what the head reads are free, whatever the alphas."""

import numpy as np
import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import Scheme, Wiring, best_betas, is_zero_stable

SCHEMES = ("1,1,1;1", "zerosnet(-9/5)", "-3,5,-1;4", "euler()", "15/4,-4,5/4;-1/2")


@pytest.mark.parametrize("objective", ["accuracy", "head"])
def test_with_free_betas_all_schemes_are_about_equally_good(objective: str) -> None:
    found = [best_betas(Scheme.parse(text), objective=objective) for text in SCHEMES]
    values = [one.value for one in found]
    assert max(values) - min(values) < {"accuracy": 0.01, "head": 0.5}[objective]
    assert all(one.value >= one.constant for one in found)
    assert max(one.constant for one in found) - min(one.constant for one in found) > 10


def test_betas_of_an_unstable_scheme_grow_with_its_state() -> None:
    betas = best_betas(Scheme.parse("1,1,1;1")).betas
    assert not is_zero_stable(Scheme.parse("1,1,1;1"))
    assert np.exp(np.diff(np.log(betas[:6]))).mean() == pytest.approx(1.84, rel=0.02)


def test_later_stages_are_read_more_as_their_blocks_have_more_parameters() -> None:
    found = best_betas(Scheme.parse("euler()"))
    parts = Wiring.per_block(found.block_schemes).head_parts()
    assert parts[20] > parts[12] > parts[4]
    assert parts[19] == pytest.approx(parts[25], rel=1e-6)


def test_no_small_change_of_a_beta_is_better() -> None:
    found = best_betas(Scheme.parse("zerosnet(-9/5)"), (3, 3, 3), objective="head")
    for n in range(len(found.betas)):
        for factor in (0.9, 1.1):
            betas = [beta * (factor if i == n else 1) for i, beta in enumerate(found.betas)]
            wiring = Wiring.per_block([Scheme(found.scheme.alphas, [beta]) for beta in betas], (3, 3, 3))
            assert wiring.effective_parameters([1.0] * 9) <= found.value + 1e-3


@pytest.mark.parametrize(
    ("text", "options"), [("1;1", {"objective": "depth"}), ("1;3/2,-1/2", {}), ("0,0,1;1", {"blocks": (1, 1)})]
)
def test_what_cannot_be_is_refused(text: str, options: dict) -> None:
    with pytest.raises(InputError, match="expected"):
        best_betas(Scheme.parse(text), **options)
