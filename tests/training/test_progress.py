from collections.abc import Callable
from io import StringIO

import pytest

from zerosnet.training import RunSpec
from zerosnet.training.screen.displays import GroupProgress, Lines
from zerosnet.training.screen.live_table import LiveTable

MakeSpecs = Callable[..., list[RunSpec]]
ROW = {"epoch": 1, "train_loss": 0.5, "train_accuracy": 0.25, "test_accuracy": 0.5, "seconds": 1.5}


def test_lines_name_the_runs_and_sum_up_an_epoch(make_specs: MakeSpecs, capsys: pytest.CaptureFixture[str]) -> None:
    with Lines() as lines:
        group = lines.group(make_specs(2), [None, None], 0, 12)
        group.step(6)
        rows = [ROW | {"best_test_accuracy": 0.5}, ROW | {"test_accuracy": 0.75, "train_loss": float("nan")}]
        group.epoch(rows, [True, True])
    out, err = capsys.readouterr()
    assert out == ""
    assert "zerosnet20 (zerosnet(-9/5)) digits quick seed 0" in err
    assert "epoch 1/2  2 x  loss 0.5000  train 25.00%  test 50.00%..75.00%  3.0 s  left 0:00" in err


def test_lines_of_groups_side_by_side_name_their_group(
    make_specs: MakeSpecs, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, specs = Lines(), make_specs(3)
    one, two = lines.group(specs[:1], [None], 0, 12), lines.group(specs[1:], [None, None], 0, 12)
    capsys.readouterr()
    one.epoch([ROW], [True])
    assert capsys.readouterr().err.startswith(f"{specs[0].id}: epoch 1/2  loss")
    two.epoch([ROW, ROW], [True, True])
    assert capsys.readouterr().err.startswith(f"{specs[1].id} and 1 more: epoch 1/2  2 x")
    one.step(12)
    two.step(12)
    last = lines.group(specs[:1], [None], 0, 12)
    capsys.readouterr()
    last.epoch([ROW], [True])
    assert capsys.readouterr().err.startswith("epoch 1/2  loss"), "the others are over"


def test_a_line_is_about_the_networks_that_live(make_specs: MakeSpecs, capsys: pytest.CaptureFixture[str]) -> None:
    group = Lines().group(make_specs(3, epochs=5), [None] * 3, 0, 12)
    capsys.readouterr()
    dead = ROW | {"test_accuracy": 0.1, "train_accuracy": 0.125, "train_loss": 9.0, "seconds": 7.0}
    others = [ROW | {"epoch": 4}, ROW | {"epoch": 4, "test_accuracy": 0.75}]
    group.epoch([dead, *others], [False, True, True])
    line = "epoch 4/5  2 of 3 x  loss 0.5000  train 25.00%  test 50.00%..75.00%  4.5 s"
    assert capsys.readouterr().err.startswith(line)


def test_a_group_without_living_networks_is_reported_as_diverged(
    make_specs: MakeSpecs, capsys: pytest.CaptureFixture[str]
) -> None:
    several, one = (Lines().group(make_specs(n, epochs=5), [None] * n, 0, 12) for n in (2, 1))
    capsys.readouterr()
    several.epoch([ROW, ROW | {"epoch": 3}], [False, False])
    one.epoch([ROW], [False])
    assert capsys.readouterr().err == "epoch 3/5  all networks diverged\nepoch 1/5  the network diverged\n"


def test_quiet_lines_are_none(make_specs: MakeSpecs, capsys: pytest.CaptureFixture[str]) -> None:
    Lines(quiet=True).group(make_specs(1), [None], 0, 12).epoch([ROW], [True])
    assert capsys.readouterr() == ("", "")


def test_the_live_table_shows_every_replica(make_specs: MakeSpecs) -> None:
    from rich.console import Console

    table = LiveTable()
    table.console = table.live.console = Console(width=120, record=True, file=StringIO())
    group = table.group(make_specs(2), [None, ROW | {"best_test_accuracy": 0.625}], 0, 12)
    group.step(3)
    table.console.print(table._picture())
    text = table.console.export_text()
    assert "seed 0" in text and "seed 1" in text and "62.50%" in text and "step 3/12" in text


def test_time_left_follows_the_pace_so_far(make_specs: MakeSpecs) -> None:
    group = GroupProgress(make_specs(1), [None], 10, 110, lambda group, epoch: None)
    assert group.left() == "?"
    group.since -= 100
    group.step(20)
    assert group.left() == "15:00"
    group.total = 10_000
    assert group.left().count(":") == 2


def test_the_time_of_all_groups_follows_the_work_done(
    make_specs: MakeSpecs, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, specs = Lines(), make_specs(4, epochs=5)
    lines.expect({spec.id: 1.0 for spec in specs})
    group = lines.group(specs[:2], [None, None], 0, 10)
    assert lines.outlook.left() is None
    lines.outlook._since -= 100
    group.step(5)  # half of half of the work
    group.epoch([ROW, ROW], [True, True])
    assert capsys.readouterr().err.endswith(", in all 5:00\n")
    last = lines.group(specs[2:], [None, None], 5, 10)  # half of it was done before
    assert lines.outlook.left() == "3:20"
    group.step(10)
    assert lines.outlook.left() is None  # one group is left, which says it itself
    assert last.left() == "?"


def test_all_takes_no_less_than_the_slowest_group_at_work(make_specs: MakeSpecs) -> None:
    lines, specs = Lines(quiet=True), make_specs(2, epochs=5)
    lines.expect({spec.id: 1.0 for spec in specs})
    quick, slow = (lines.group([spec], [None], 0, 10) for spec in specs)
    lines.outlook._since -= 90
    for group, done in ((quick, 8), (slow, 1)):
        group.since -= 90
        group.step(done)
    assert lines.outlook.left() == slow.left() == "13:30"


def test_the_estimate_leaves_out_runs_of_others_and_diverged_networks(make_specs: MakeSpecs) -> None:
    lines, specs = Lines(quiet=True), make_specs(3, epochs=5)
    lines.expect({spec.id: 1.0 for spec in specs})
    dead, last = (lines.group([spec], [None], 0, 10) for spec in specs[:2])
    dead.step(2)
    last.step(5)
    assert lines.outlook.left() is not None
    dead.epoch([ROW], [False])
    assert dead.over and lines.outlook.left() is not None
    lines.forget(specs[2].id)
    assert lines.outlook.left() is None


def test_long_epochs_are_not_silent(make_specs: MakeSpecs, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    lines = Lines(clock=lambda: now[0])
    group = lines.group(make_specs(1), [None], 0, 100)
    capsys.readouterr()
    for step in range(1, 8):
        now[0] += 25
        group.step(step)
    said = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in said] == ["3/100", "6/100"] and all("left" in line for line in said)
