"""Ranks of the short training against the whole one, on runs that were never run."""

from dataclasses import replace

import pytest
from tests.experiments.made_up import finish

from zerosnet.experiments import (
    agreement,
    disc_ranks,
    is_stable_pair,
    ranks_by_epoch,
    read_evidence,
    screened_networks,
    screened_pairs,
)
from zerosnet.numerics import accuracy_of_pairs, from_roots, pair_of
from zerosnet.training import Result, RunSpec, Store, recipe

ROOTS = ("-3/5", "-1/3", "-1/5", "1/5", "1/2", "3/5")


def spec(scheme, name, seed=1, **changes):
    return RunSpec("zerosnet56", "cifar10", recipe(name, "cifar10", **changes), seed, scheme)


def double(root):
    return from_roots([root, root])


@pytest.fixture
def store(tmp_path):
    """Six schemes by double roots; the whole training ranks them in order, the short one swaps two neighbours."""
    made = Store(tmp_path)
    for place, root in enumerate(ROOTS):
        for seed in (1, 2):
            finish(made, spec(double(root), "paper", seed), 0.94 - 0.02 * place + 0.001 * seed)
            short = 0.80 - 0.03 * (place ^ 1 if place < 2 else place)
            finish(made, spec(double(root), "screen", seed), short + 0.002 * seed)
    return made


def test_ranks_agree_but_for_two_neighbours(store):
    found = agreement(screened_networks(read_evidence(store)))
    assert found.networks == len(ROOTS)
    assert found.both.rho == pytest.approx(1 - 6 * 2 / (6 * 35))
    assert found.one_seed.rho == pytest.approx(found.both.rho)
    assert found.whole_seeds.rho == found.short_seeds.rho == pytest.approx(1)


def test_the_largest_rank_errors_come_first_with_what_they_cost(store):
    first, second, *others = agreement(screened_networks(read_evidence(store))).errors
    assert {first.network.scheme, second.network.scheme} == {double(root) for root in ROOTS[:2]}
    assert {(one.short, one.whole, round(one.points, 6)) for one in (first, second)} == {(1, 2, 2), (2, 1, -2)}
    assert all(one.short == one.whole and one.points == 0 for one in others)


def test_other_runs_do_not_count(store):
    changed = spec(double("2/5"), "screen", epochs=3)
    finish(store, changed, 0.1)
    finish(store, replace(spec(double("2/5"), "screen"), model="zerosnet20"), 0.1)
    finish(store, replace(spec(double("2/5"), "screen"), stage_change="restart"), 0.1)
    finish(store, replace(spec(double("2/5"), "screen"), validation=0.1), 0.1, validation_accuracy=0.1)
    assert len(screened_networks(read_evidence(store))) == len(ROOTS)
    assert not agreement([]).errors and agreement([]).both is None


def test_networks_with_one_training_only_are_in_the_map_and_not_in_the_ranks(store):
    pair = from_roots([("-1", "1/2")])
    finish(store, spec(pair, "screen"), 0.7)
    networks = screened_networks(read_evidence(store))
    assert agreement(networks).networks == len(ROOTS)
    places = dict(screened_pairs(networks))
    assert len(places) == len(ROOTS) + 1
    root = next(root for root in places if root.imag > 0.1)
    assert abs(root - (0.5 + 0.5j)) < 1e-9 and places[root] == pytest.approx(70)


def test_early_epochs_are_compared_with_the_end(tmp_path):
    made = Store(tmp_path)
    for place, root in enumerate(ROOTS):
        one = spec(double(root), "paper")
        finish(made, one, 0.9 - 0.01 * place)
        wrong, right = 0.5 + 0.01 * place, 0.9 - 0.01 * place
        rows = [f'{{"epoch": {n}, "test_accuracy": {value}}}\n' for n, value in ((1, wrong), (2, right), (3, 0.1))]
        (made.folder(one) / "metrics.jsonl").write_text("".join(rows))
    found = ranks_by_epoch(read_evidence(made), (1, 2, 3))
    assert [round(one.rho, 6) for one in found.values()] == [-1, 1, 1]


def test_a_pair_is_found_by_its_scheme_and_nothing_else_is_one():
    for root in (0.3 + 0.4j, -1.1 + 0j, 0j, 0.2 + 1.1j):
        scheme = from_roots([(-2 * root.real, abs(root) ** 2)])
        assert abs(pair_of(scheme) - root) < 1e-6
        assert accuracy_of_pairs([root]).shape == (1,)
    assert pair_of(from_roots(["1/2", "-1/2"])) is None
    assert pair_of(from_roots(["1/2"])) is None
    assert pair_of(from_roots([0, 0])) == 0


def test_a_run_that_diverged_has_no_rank(store):
    with store.claim(spec(double("2/5"), "screen")) as run:
        run.finish(Result("diverged", 3, 1.0, None, None, 1, 0.5))
    assert len(screened_pairs(screened_networks(read_evidence(store)))) == len(ROOTS)


def test_ranks_over_the_disc_are_compared_with_what_is_known_before_training(store):
    pairs = [(complex(root, 0.1), 90.0 - 10 * root) for root in (-0.5, 0.0, 0.3, 0.6, 1.1)]
    found = disc_ranks(pairs)
    assert found["the law"].rho > 0.5 and found["effective depth"].rho > 0.5
    assert list(disc_ranks(pairs, law=False)) == ["effective depth", "zero stability", "small modulus"]
    assert not any(disc_ranks([]).values())


@pytest.mark.parametrize("root, stable", [(0.5, True), (1j, True), (-1, False), (1.01j, False), (0.6 + 0.8j, True)])
def test_a_pair_is_zero_stable_inside_the_circle_or_on_it_if_it_is_no_double_root(root, stable):
    assert is_stable_pair(complex(root)) is stable
