"""The sweeps of a screening, and what is written about it."""

from fractions import Fraction
from pathlib import Path

import pytest
from tests.experiments.made_up import finish_all

from tools import screening
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
    assert "| all | 24 | 0." in text and text.count("| `") == screening.WORST
    assert "registered before training" not in text
    assert text.index("(images/screening.png)") < text.index("largest rank errors")


def test_networks_with_two_whole_trainings_have_rows_of_their_own(screened):
    specs = read_sweep(SWEEPS / "screen-map.json")[::8]
    again = [RunSpec(s.model, s.dataset, recipe("paper", "cifar10"), 2, s.scheme) for s in specs[:5]]
    finish_all(screened, again, lambda spec: 0.93 + 0.1 * abs(pair_of(spec.scheme) - 0.2j))
    text = screening.section(read_evidence(screened))
    assert "| the same networks, one seed of screening with another of 160 epochs | -1.00 | 5 |" in text
    assert "| 160 epochs, one seed with another | -1.00 | 5 |" in text
    assert "networks with two seeds of these | " in text and "are left out." not in text


def test_changed_recipes_and_rewired_networks_are_counted_as_left_out(screened):
    spec = read_sweep(SWEEPS / "screen-map.json")[0]
    longer = RunSpec(spec.model, "cifar10", recipe("paper", "cifar10", epochs=20), 1, spec.scheme)
    rewired = RunSpec(spec.model, "cifar10", recipe("paper", "cifar10"), 1, spec.scheme, stage_change="restart")
    finish_all(screened, [longer, rewired], lambda spec: 0.9)
    text = screening.section(read_evidence(screened))
    assert "Runs with a changed recipe (1) and rewired networks (1) are left out." in text
    assert "| screening (mean of seeds) with 160 epochs | 1.00 | 6 |" in text


def test_the_command_prints_the_section_and_draws_the_map(screened, tmp_path, capsys):
    picture = tmp_path / "map.png"
    assert screening.main(str(picture), str(screened.root)) == 0
    assert picture.stat().st_size > 20_000 and "## Screening" in capsys.readouterr().out
    assert screening.main(str(picture), str(tmp_path / "none")) == 2
    assert "which is no folder; expected one with runs" in capsys.readouterr().err
    assert screening.main(str(tmp_path / "map.abc"), str(screened.root)) == 2
    assert "map.abc" in capsys.readouterr().err


def test_the_registered_order_of_the_map_is_compared_with_what_was_measured():
    text = screening.page_section()
    assert "over 192 networks) and with it" in text and "| all | 192 | 0." in text


def test_networks_with_small_betas_are_near_the_threshold():
    near, clear = (screening.Screened("zerosnet56", Scheme.parse(text), {}, {}) for text in ("1,0,0;1/25", "1,0,0;1"))
    assert screening.is_near(near) and not screening.is_near(clear)
    assert not screening.is_near(screening.Screened("preresnet56", None, {}, {}))
