"""The table of the training benchmark: cases in turn, peak memory side by side, time that runs out."""

import json

import pytest
import torch
from benchmarks import parts, training
from benchmarks.training import CASES, Case, on_cuda, peak_memory

NUMBERS = (
    "step_ms",
    "prepare_seconds",
    "seconds_per_epoch_and_network",
    "evaluation_share",
    "outside_recorded_steps",
    "outside_training_steps",
    "checkpoint_waiting_seconds",
    "checkpoint_writing_seconds",
)


def made_up(case):
    sizes = {"layers": case.layers, "replicas": case.replicas, "kernels": case.kernels}
    gib = case.replicas * (1 if case.kernels == "native" else 3)
    return {"case": case.name, **sizes, **dict.fromkeys(NUMBERS, 1.0), "peak_memory_gib": gib}


@pytest.fixture
def measured(monkeypatch):
    """Names of the cases that were measured, which here takes no time."""
    names = []

    def measure(case, device, data):
        names.append(case.name)
        return made_up(case)

    monkeypatch.setattr(training, "measure", measure)
    monkeypatch.setattr(training, "authors_way", lambda *_: {"ms_per_step": 25.0, "seconds_per_epoch": 10.0})
    monkeypatch.setattr(training, "synthetic", lambda *_: None)
    return names


def small(cases=CASES, before=None):
    return list(on_cuda(cases, before, device="cpu"))


def test_the_table_grows_by_a_case_at_a_time_and_ends_complete(measured):
    states = small()
    assert [len(state["rows"]) for state in states] == [*range(1, len(CASES) + 1), len(CASES)]
    assert measured == [case.name for case in CASES] and "left_out" not in states[-1]
    assert json.loads(json.dumps(states[-1])) == states[-1]
    assert all(row["times_faster"] == 10 for row in states[-1]["rows"] if row["layers"] == 56)


def test_peak_memory_of_both_engines_stands_side_by_side(measured):
    (*_, whole) = small()
    assert whole["peak_memory"] == [
        {"layers": case.layers, "replicas": case.replicas, "native_gib": case.replicas, "torch_gib": 3 * case.replicas}
        for case in CASES
        if case.kernels == "native" and case.layers < 110  # the plain engine is not timed there
    ]
    assert peak_memory(whole["rows"][:4]) == []


def test_a_continued_run_measures_only_what_is_missing(measured):
    half = small()[2]
    done, measured[:] = measured[:3], []
    assert small(before=half)[-1]["rows"][:3] == half["rows"]
    assert done + measured == [case.name for case in CASES]


def test_cases_beyond_the_time_limit_are_left_to_the_next_run(measured, monkeypatch):
    monkeypatch.setattr(training, "TIME_LIMIT", 20)
    (*_, whole) = small()
    fitting = [case.name for case in CASES if case.seconds_needed < 20]
    assert measured == fitting == [row["case"] for row in whole["rows"]]
    assert whole["left_out"] == {case.name: "no time left" for case in CASES if case.name not in fitting}


def test_a_case_that_fails_does_not_take_the_others_with_it(measured, monkeypatch, capsys):
    def measure(case, device, data):
        if case.replicas == 30:
            raise RuntimeError("out of memory")
        return made_up(case)

    monkeypatch.setattr(training, "measure", measure)
    (*_, whole) = small()
    assert set(whole["left_out"].values()) == {"RuntimeError: out of memory"}
    assert [row["case"] for row in whole["rows"]] == [case.name for case in CASES if case.replicas != 30]


def test_every_part_can_be_left_out():
    case = Case("torch", 20, 2, 1, 1, 1.0)
    (*_, whole) = parts.on(torch.device("cpu"), case, images=256, size=8)
    assert [row["name"] for row in whole["rows"]] == [part.name for part in parts.PARTS]
    assert all(row["step_ms"] > 0 for row in whole["rows"])
    assert [row["step_ms"] / row["ms_per_network"] for row in whole["rows"]] == pytest.approx([2, 2, 2, 2, 2, 1])


def test_a_small_case_goes_through_the_whole_engine():
    case = Case("torch", 20, 2, 2, 1, 1.0)
    (first, whole) = on_cuda([case], device="cpu", images=256, size=8)
    (row,) = whole["rows"]
    assert first["rows"] == whole["rows"] and row["case"] == "20 layers, K=2, torch" and row["kernels"] == "torch"
    assert min(row["step_ms"], row["seconds_per_epoch"], row["evaluation_ms"], whole["authors"]["ms_per_step"]) > 0
