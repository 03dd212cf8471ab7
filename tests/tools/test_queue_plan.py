"""The plan of the queue for one H200, made without one."""

import json
from pathlib import Path

import pytest

from tools import queue_plan
from zerosnet.experiments import group_seconds
from zerosnet.training import read_sweep

SWEEPS = Path(__file__).parents[2] / "results" / "sweeps"


def rows(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_groups_and_their_minutes_are_listed(tmp_path):
    *groups, whole = rows(queue_plan.plan([SWEEPS / "cifar100-preresnet.json"], tmp_path))
    specs = read_sweep(SWEEPS / "cifar100-preresnet.json")
    minutes = f"{group_seconds(specs) / 60:.1f}"
    assert groups == [["cifar100-preresnet", "preresnet56", "cifar100", "3", "300", minutes]]
    assert whole == ["**all**", "", "", "3", "", minutes]


def test_a_surrogate_is_planned_first_and_a_run_once(tmp_path):
    found = rows(queue_plan.plan([SWEEPS / "table-pgd.json", SWEEPS / "table-pgd.json"], tmp_path))
    assert [row[1:4] for row in found[:-1]] == [
        ["preresnet20", "cifar10", "1"],
        ["zerosnet56, zerosnet56_opt", "cifar10", "4"],
    ]


def test_several_streams_are_marked_as_not_timed_and_summed_apart(tmp_path):
    *groups, whole = rows(queue_plan.plan([SWEEPS / "wirings.json"], tmp_path))
    marked = {row[1] for row in groups if row[5].startswith("not timed; by bytes about")}
    both = (f"streams{layers}, streams{layers}_sinkhorn" for layers in (20, 56))
    assert marked == {"preresnet20_x0", "preresnet56_x0", *both}
    timed = sum(float(row[5]) for row in groups if row[1] not in marked)
    assert float(whole[5].split(",")[0]) == pytest.approx(timed, abs=0.5)


def test_runs_with_a_record_are_left_out(tmp_path):
    for spec in read_sweep(SWEEPS / "adam.json")[1:]:
        (tmp_path / spec.id).mkdir()
        (tmp_path / spec.id / "result.json").write_text("{}")
    assert rows(queue_plan.plan([SWEEPS / "adam.json"], tmp_path))[0][3] == "1"


def test_data_without_a_known_size_are_refused(tmp_path, capsys):
    spec = {"model": "zerosnet20", "scheme": "1;1", "dataset": "digits", "recipe": "quick", "seed": 1}
    (tmp_path / "a.json").write_text(json.dumps([spec]))
    assert queue_plan.main([str(tmp_path / "a.json")]) == 2
    assert "dataset is 'digits'" in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted(SWEEPS.glob("*.json")), ids=lambda path: path.stem)
def test_every_group_of_a_sweep_has_a_time_or_an_estimate(path):
    assert all(group_seconds(members) for members in queue_plan.groups(read_sweep(path)))
