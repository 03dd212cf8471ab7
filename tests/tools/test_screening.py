"""The sweeps of a screening, and what is written about it."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from tests.experiments.made_up import finish, finish_all
from tests.measured_runs import needs_runs

from tools import screening, screening_ranks
from zerosnet.experiments import read_evidence
from zerosnet.numerics import Scheme, is_consistent, is_zero_stable, pair_of
from zerosnet.training import RunSpec, Store, read_sweep, recipe

SWEEPS = Path(__file__).parents[2] / "results" / "sweeps"
MESH, REACH = Fraction(1, 9), Fraction(6, 5)  # distance of neighbouring roots, and the largest modulus


def test_the_map_has_consistent_schemes_on_a_grid_of_the_disc_and_beyond():
    specs = read_sweep(SWEEPS / "screen-map.json")
    roots = [pair_of(spec.scheme) for spec in specs]
    assert len(specs) == len(set(roots)) == 192
    assert all(is_consistent(spec.scheme) and spec.recipe == recipe("screen", "cifar10") for spec in specs)
    assert max(map(abs, roots)) <= REACH and min(root.imag for root in roots) == 0
    stable = sum(bool(is_zero_stable(spec.scheme)) for spec in specs)
    assert 100 < stable < len(specs) and sum(abs(root) > 1.001 for root in roots) > 40
    assert all((Fraction(root.real).limit_denominator(9) / MESH).denominator == 1 for root in roots)


def test_the_known_networks_are_screened_with_two_seeds_each():
    specs = read_sweep(SWEEPS / "screen-known.json")
    networks = {(spec.model, spec.scheme) for spec in specs}
    assert len(specs) == 2 * len(networks) and {spec.seed for spec in specs} == {1, 2}
    assert ("preresnet56", None) in networks and ("zerosnet56_opt", None) in networks


def test_nothing_is_written_before_anything_was_screened(tmp_path):
    assert screening.section(read_evidence(Store(tmp_path))) == ""
    store = Store(tmp_path)
    finish_all(store, [RunSpec("preresnet56", "cifar10", recipe("paper", "cifar10"), 1)], lambda spec: 0.9)
    assert screening.section(read_evidence(store)) == ""


@pytest.fixture
def screened(tmp_path):
    store = Store(tmp_path / "runs")
    specs = read_sweep(SWEEPS / "screen-map.json")[::8]
    finish_all(store, specs, lambda spec: 0.8 - 0.1 * abs(pair_of(spec.scheme) - 0.2j))
    whole = [RunSpec(s.model, s.dataset, recipe("paper", "cifar10"), 1, s.scheme) for s in specs[:6]]
    finish_all(store, whole, lambda spec: 0.93 - 0.1 * abs(pair_of(spec.scheme) - 0.2j))
    return store


def test_the_section_names_ranks_and_the_largest_errors(screened):
    text = screening.section(read_evidence(screened), has_picture=True)
    assert "| screening (mean of seeds) with 160 epochs | 1.00 | 6 |" in text
    assert "| 160 epochs, one seed with another |  |  |" in text
    assert "| all | 24 | 0." in text and text.count("| `") == screening_ranks.WORST
    assert "registered before training" not in text
    assert text.index("(images/screening.png)") < text.index("largest rank errors")


def test_networks_with_two_whole_trainings_have_rows_of_their_own(screened):
    specs = read_sweep(SWEEPS / "screen-map.json")[::8]
    again = [RunSpec(s.model, s.dataset, recipe("paper", "cifar10"), 2, s.scheme) for s in specs[:5]]
    finish_all(screened, again, lambda spec: 0.93 + 0.1 * abs(pair_of(spec.scheme) - 0.2j))
    text = screening.section(read_evidence(screened))
    assert "| the same networks, one seed of screening with another of 160 epochs | -1.00 | 5 |" in text
    assert "| 160 epochs, one seed with another | -1.00 | 5 |" in text
    assert "networks with two seeds of these | " in text and "were not screened" not in text


def test_networks_that_were_not_screened_are_counted_with_the_reason(screened):
    spec = read_sweep(SWEEPS / "screen-map.json")[0]
    whole, longer = recipe("paper", "cifar10"), recipe("paper", "cifar10", epochs=20)
    ways = ({"stage_change": "restart"}, {"beta_growth": "1/2"}, {"init_growth": 2}, {"init_growth": 3})
    rewired = [RunSpec(spec.model, "cifar10", whole, 1, spec.scheme, **way) for way in ways]
    finish_all(
        screened, [RunSpec(spec.model, "cifar10", longer, seed, spec.scheme) for seed in (1, 2)], lambda spec: 0.9
    )
    assert (
        " Of the networks of 56 layers by recipe `paper` 1 were not screened because their recipe is changed."
        in section(screened)
    )
    finish_all(screened, rewired, lambda spec: 0.9)
    assert (
        "4 were not screened because they are not one scheme in all blocks (betas that grow or shrink: 1, initial "
        "weights that grow: 2, restart at changes of stage: 1), and 1 because their recipe is changed."
    ) in section(screened)
    assert "| screening (mean of seeds) with 160 epochs | 1.00 | 6 |" in section(screened)


def section(store):
    return screening.section(read_evidence(store))


def test_the_command_prints_the_section_and_draws_the_map(screened, tmp_path, capsys):
    picture = tmp_path / "map.png"
    assert screening.main(str(picture), str(screened.root)) == 0
    assert picture.stat().st_size > 20_000 and "Recipe `screen`" in capsys.readouterr().out
    assert screening.main(str(picture), str(tmp_path / "none")) == 2
    assert "which is no folder; expected one with runs" in capsys.readouterr().err
    assert screening.main(str(tmp_path / "map.abc"), str(screened.root)) == 2
    assert "map.abc" in capsys.readouterr().err


def test_the_registered_order_of_the_map_is_compared_with_what_was_measured():
    text = screening.page_section()
    assert "over 192 networks, with it 0." in text and "| all | 192 | 0." in text


NEAR, CLEAR = [f"1,0,0;1/{n}" for n in range(25, 31)], [f"1,0,0;1/{n}" for n in range(1, 7)]


@needs_runs
def test_the_minutes_of_the_map_are_those_of_its_records():
    runs = SWEEPS.parent / "runs"
    results = [runs / spec.id / "result.json" for spec in read_sweep(SWEEPS / "screen-map.json")]
    seconds = sum(json.loads(path.read_text())["seconds"] for path in results)
    assert screening.VALUES["map, minutes"]() == f"{seconds / 60:.0f}"


def test_networks_with_small_betas_are_near_the_threshold():
    assert all(screening_ranks.is_near(Scheme.parse(text)) for text in NEAR)
    assert not any(screening_ranks.is_near(Scheme.parse(text)) for text in CLEAR)
    assert not screening_ranks.is_near(None)


@pytest.fixture
def late(tmp_path):
    """Networks clear of the threshold that keep their order, and networks near it that have another after 20 epochs."""
    store = Store(tmp_path)
    for kind, schemes in enumerate((CLEAR, NEAR)):
        for place, text in enumerate(schemes):
            scheme, order = Scheme.parse(text), (place, place if kind == 0 else 5 - place)
            early, end = (0.7 - 0.2 * kind - 0.02 * of for of in reversed(order))
            finish(store, RunSpec("zerosnet56", "cifar10", recipe("screen", "cifar10"), 1, scheme), early)
            whole = RunSpec("zerosnet56", "cifar10", recipe("paper", "cifar10"), 1, scheme)
            finish(store, whole, end + 0.2)
            rows = [f'{{"epoch": {n}, "test_accuracy": {early if n < 20 else end + 0.2}}}\n' for n in range(1, 161)]
            (store.folder(whole) / "metrics.jsonl").write_text("".join(rows))
    return store


def test_ranks_of_the_whole_training_are_split_by_the_threshold(late):
    text = section(late)
    assert "| After so many epochs | Networks | 1 | 4 | 8 | 12 | 20 | 40 | 60 | 80 | 85 | 120 |" in text
    assert "| clear of the threshold of survival | 6 |" + " 1.00 |" * 10 in text
    assert "| near it | 6 |" + " -1.00 |" * 4 + " 1.00 |" * 6 in text
    assert "| all | 12 |" in text


def test_the_reason_of_rank_errors_is_given_if_the_whole_training_has_them_too(late):
    assert "order is not yet decided after 12 epochs, whatever the schedule" in section(late)
    for text in NEAR:
        whole = RunSpec("zerosnet56", "cifar10", recipe("paper", "cifar10"), 1, Scheme.parse(text))
        (late.folder(whole) / "metrics.jsonl").unlink()
    assert "All 5 start near the threshold of survival.\n" in section(late)


@needs_runs
def test_near_the_threshold_the_whole_training_decides_the_order_late():
    text = screening.page_section()
    assert "the order is not yet decided after 12 epochs, whatever the schedule" in text
    columns = [str(epoch) for epoch in screening_ranks.EPOCHS]
    lines = {
        cells[1].strip(): cells[3:-1] for cells in (line.split("|") for line in text.splitlines()) if len(cells) > 9
    }
    near, clear = (
        dict(zip(columns, map(float, lines[name]))) for name in ("near it", "clear of the threshold of survival")
    )
    assert near["12"] < 0.6 and all(
        near[a] < near[b] for a, b in zip(("12", "20", "40", "60"), ("20", "40", "60", "80"))
    )
    assert min(clear[epoch] for epoch in ("12", "20", "40", "60", "80")) > 0.9
