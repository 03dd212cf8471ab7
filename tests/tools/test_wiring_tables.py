"""The table of residual wirings, of records that were made up."""

import json
from pathlib import Path

import pytest
from tests.report.synthetic import write_run

from tools import wiring_tables
from zerosnet.experiments import Evidence, cost, read_evidence
from zerosnet.models import create_model
from zerosnet.training import RunSpec, Store, read_sweep

SPECS, DEEP = map(read_sweep, wiring_tables.SWEEPS)


def of(model: str) -> RunSpec:
    return next(spec for spec in SPECS if spec.model == model)


def read(folder: Path, *specs: RunSpec) -> Evidence:
    for spec in specs:
        path = write_run(folder, spec) / "metrics.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        rows[-1] |= (create_model(spec.model, seed=1).trained_coefficients() or [{}])[0]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_evidence([Store(folder)])


def cells(text: str, layers: int, name: str) -> list[str]:
    front = f"| {layers} | {name} |"
    (line,) = [line for line in text.splitlines() if line.startswith(front)]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_nothing_is_shown_before_one_of_the_new_wirings_is_trained(tmp_path: Path) -> None:
    assert wiring_tables.comparison(Evidence()) == wiring_tables.NOT_TRAINED
    assert wiring_tables.comparison(read(tmp_path, of("preresnet56"))) == wiring_tables.NOT_TRAINED


def test_a_row_has_accuracy_noise_depths_and_whether_coefficients_left_the_set(tmp_path: Path) -> None:
    text = wiring_tables.comparison(read(tmp_path, of("streams56"), of("preresnet56"), of("preresnet56_gains")))
    free = cells(text, 56, "4 streams, free")
    assert 91 < float(free[2]) < 95 and 91 < float(free[3]) < 95 and 30 < float(free[4]) < 95
    assert float(free[5]) == pytest.approx(float(free[6]), abs=0.2), "it ended where it began"
    assert free[8].endswith(" of 27") and free[9] == "0 of 27" and float(free[10]) == 1 and float(free[11]) == 1
    assert cells(text, 56, "PreResNet: Euler's scheme")[6] == "fixed"
    assert cells(text, 56, "gains, trained")[9] == "0 of 27"
    assert cells(text, 20, "simplex, trained")[2] == "not trained"
    rows, legend = text.split("\n\n")
    assert len(rows.splitlines()) == 2 + len(SPECS)
    assert legend.startswith("*Blocks outside* are"), "what a column means is told where the column is"


def test_deeper_networks_are_listed_once_one_of_the_new_wirings_is_trained(tmp_path: Path) -> None:
    old, new = (next(spec for spec in DEEP if spec.model == name) for name in ("preresnet110", "preresnet110_scaled"))
    assert wiring_tables.comparison(read(tmp_path / "old", old)) == wiring_tables.NOT_TRAINED
    text = wiring_tables.comparison(read(tmp_path / "new", new))
    assert len(text.split("\n\n")[0].splitlines()) == 2 + len(DEEP)
    assert cells(text, 110, "gains, trained")[2:4] == ["not trained", "94.5"]


def test_every_wiring_of_the_sweep_has_a_name_and_a_cost() -> None:
    assert {wiring_tables._kind(spec)[0] for spec in SPECS} == set(wiring_tables.NAMES)
    seconds = {model: cost([of(model)]).gpu_seconds or 0.0 for model in ("preresnet56", "preresnet56_x0", "streams56")}
    assert 4 * seconds["preresnet56"] > seconds["streams56"] > seconds["preresnet56_x0"] > seconds["preresnet56"]
