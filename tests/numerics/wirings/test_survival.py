"""Blocks that survive training, by how they are read at the start."""

import numpy as np
import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import Scheme, Wiring, forecast, load_law
from zerosnet.numerics.wirings.survival import Survival, count_survival, living_parts, start_weights

OPT = "1/3,5/9,1/9"


def test_a_block_is_judged_by_the_better_of_its_two_readers() -> None:
    forgotten, kept = start_weights([0.9, 0.02], [1e-6, 0.25], [1, 1])
    assert (forgotten, kept) == (0.9, 0.5)


def test_a_wide_block_needs_more() -> None:
    narrow, wide = start_weights([0.03, 0.03], [0, 0], [1, 16])
    assert narrow == 0.03 and wide == pytest.approx(0.015)


def test_blocks_that_die_have_no_part() -> None:
    assert living_parts([0.5, 0.01], [0.2, 0.0001], [1, 1], 0.02).tolist() == [0.2, 0.0]


def test_the_threshold_lies_between_blocks_and_counts_those_it_misjudges() -> None:
    found = count_survival([0.01, 0.03, 0.02, 0.04], [False, False, True, True])
    assert found.blocks == 4 and found.wrong == 1
    again = count_survival(np.array([4.0, 1.0]), [True, False])
    assert again == Survival(2.0, 2, 0)


def test_equal_weights_are_judged_alike_and_a_threshold_is_never_zero() -> None:
    assert count_survival([0.1, 0.1, 0.4], [False, True, True]).wrong == 1
    assert count_survival([0.0, 0.5], [False, True]) == Survival(0.5, 2, 0)


@pytest.mark.parametrize(("dataset", "layers"), [("cifar100", 56), ("cifar10", 164)])
def test_survivors_are_unknown_where_the_law_was_not_calibrated(dataset: str, layers: int) -> None:
    found = forecast("1,1,1;1", layers, dataset=dataset)
    assert found.survivors is None and found.to_json()["survivors"] is None


@pytest.mark.parametrize(
    ("weights", "alive"),
    [([], []), ([0.1, 0.1], [True, False]), ([0.1], [True]), ([0.1, 0.2], [True, True]), ([1.0], [0, 1])],
)
def test_blocks_that_tell_no_threshold_are_refused(weights: list[float], alive: list[bool]) -> None:
    with pytest.raises(InputError, match="expected one per block"):
        count_survival(weights, alive)


def test_a_negative_threshold_is_refused() -> None:
    with pytest.raises(InputError, match="least is -1"):
        Survival(-1.0)


def test_the_packages_threshold_misjudges_few_of_many_blocks() -> None:
    survival = load_law().survival
    assert 0.015 < survival.least < 0.03 and survival.blocks > 3000 and survival.wrong < 0.04 * survival.blocks


def test_small_betas_kill_all_blocks_but_those_of_start_up() -> None:
    assert forecast(f"{OPT};2/125").survivors.tolist() == [True, True] + 25 * [False]
    assert forecast(f"{OPT};16/9").survivors.all()


def test_more_blocks_survive_with_a_larger_beta_and_accuracy_grows_with_them() -> None:
    found = [forecast(f"{OPT};{beta}") for beta in ("0.016", "0.027", "0.032", "0.064")]
    counts = [one.survivors.sum() for one in found]
    accuracies = [one.prediction.accuracy for one in found]
    assert counts == sorted(counts) and accuracies == sorted(accuracies) and accuracies[-1] - accuracies[0] > 15


def test_a_change_of_gauge_changes_no_survivor() -> None:
    wiring = Wiring.of(Scheme.parse("1,1,1;1"))
    other = wiring.regauge([1.84**-n for n in range(28)])
    assert load_law().quantity(other) == pytest.approx(load_law().quantity(wiring))
