"""Registered predictions under noise, read back beside what was measured."""

import json

import pytest
from tests.measured_runs import RUNS, needs_runs

from zerosnet.experiments import NOISES, Evidence, read_evidence, registered_errors, registered_noise
from zerosnet.report.page.registered import registered_noise_section
from zerosnet.training import Store


def entry(run: str, value: float = 70.0, **more: object) -> dict[str, object]:
    given = {"parts": value, "root_condition": 60.0, "constant": 50.0, "interval": [value - 3, value + 3]}
    return {
        "run": run,
        "scheme": "1;1",
        "zero_stable": True,
        "predicted_accuracy": dict.fromkeys(NOISES, given),
        **more,
    }


def stored(tmp_path, *entries: object) -> Evidence:
    (tmp_path / "predictions").mkdir()
    (tmp_path / "runs").mkdir()
    text = json.dumps({"date": "2026-11-17", "predictions": entries})
    (tmp_path / "predictions" / "noise.json").write_text(text)
    (tmp_path / "predictions" / "damaged.json").write_text("{")
    return Evidence(stores=(tmp_path / "runs",))


def test_what_is_not_measured_is_read_and_has_no_errors(tmp_path):
    found = registered_noise(stored(tmp_path, entry("a"), entry("b", predicted_accuracy={"parts": 3}), 7))
    assert [(one.run, one.measured, one.date) for one in found] == [("a", None, "2026-11-17")]
    assert not found[0].is_inside(NOISES[0]) and registered_errors(found, NOISES[0]) == {}
    assert registered_noise_section(Evidence(stores=(tmp_path / "runs",))) == []


@needs_runs
def test_the_errors_are_those_of_the_records():
    evidence = read_evidence([Store(RUNS)])
    every = registered_noise(evidence)
    there = [one for one in every if one.measured is not None]
    assert len(every) == 102 and len(there) >= 18
    noise = "Gaussian 0.04"
    squares = [(one.predicted[noise]["parts"] - one.measured[noise]) ** 2 for one in there]
    assert registered_errors(there, noise)["parts"] == pytest.approx((sum(squares) / len(squares)) ** 0.5)
    text = "".join(registered_noise_section(evidence))
    assert f"{len(there)} of 102 runs measured" in text and "1,1,1;1, beta growth 1.841" in text
    assert text.count("<tr>") >= len(there) + len(NOISES)
