"""What stores hold is read as far as it can be, and what cannot be read is named."""

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.report.synthetic import four_runs, specs_of_rows, write_run

from zerosnet.experiments import EXPERIMENTS, collect, findings, read_evidence
from zerosnet.robustness import ProtocolOptions
from zerosnet.training import Store


@pytest.fixture
def store(tmp_path):
    return four_runs(tmp_path)


def test_everything_in_a_run_is_read(store):
    evidence = read_evidence([store])
    assert len(evidence.runs) == 4 and not evidence.problems
    run = evidence.runs[0]
    assert len(run.metrics) == 3 and set(run.attacks) == {"paper-noise", "paper-pgd"}
    assert run.environment["cpu"]["cores"] == 2 and run.whole


@pytest.mark.parametrize(
    "name, content",
    [
        ("environment.json", "[1, 2"),
        ("environment.json", "[1, 2]"),
        ("attacks/paper-noise.json", "{}"),
        ("attacks/paper-noise.json", '{"protocol": "x", "rows": [{"label": 1}]}'),
        ("attacks/paper-noise.json", '"text"'),
    ],
)
def test_a_damaged_file_is_named_and_the_rest_is_kept(store, name, content):
    folder = read_evidence([store]).runs[1].record.folder
    (folder / name).write_text(content)
    evidence = read_evidence([store])
    assert len(evidence.runs) == 4
    assert [str(folder / name) in problem for problem in evidence.problems] == [True]
    assert [run.whole for run in evidence.runs].count(False) == 1


def test_a_run_without_readable_spec_or_result_is_named_and_left_out(store):
    folders = [run.record.folder for run in read_evidence([store]).runs]
    (folders[0] / "spec.json").write_text("{")
    (folders[1] / "result.json").write_text('{"status": "won"}')
    (folders[2] / "result.json").write_text('{"status": "finished", "epochs": 3, "seconds": 1, "test_accuracy": "x"}')
    evidence = read_evidence([store])
    assert len(evidence.runs) == 1 and len(evidence.problems) == 3
    assert all(any(str(folder) in problem for problem in evidence.problems) for folder in folders[:3])


def test_the_copy_of_a_run_that_got_farther_counts(tmp_path):
    spec = specs_of_rows(seeds=(1,), epochs=6)[0]
    write_run(tmp_path / "a", spec, finished=False)
    write_run(tmp_path / "b", spec)
    for order in (("a", "b"), ("b", "a")):
        evidence = read_evidence([Store(tmp_path / name) for name in order])
        assert [run.record.status for run in evidence.runs] == ["finished"]


def test_metrics_that_are_no_numbers_are_left_out(store):
    folder = read_evidence([store]).runs[0].record.folder
    (folder / "metrics.jsonl").write_text('{"epoch": 1, "test_accuracy": "x"}\n{"epoch": "y"}\n{"epoch": 2, "test')
    run = next(run for run in read_evidence([store]).runs if run.record.folder == folder)
    assert run.metrics == [{"epoch": 1}]


DAMAGE = {
    "a folder in place of the file": lambda path: (path.unlink(), path.mkdir()),
    "deep JSON": lambda path: path.write_text("[" * 100_000),
    "a number of 400 digits": lambda path: path.write_text(
        json.dumps({"status": "finished", "epochs": 3, "seconds": 10**400, "test_accuracy": 0.5})
    ),
    "bytes that are no text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["result.json", "spec.json", "ablation.json", "environment.json"])
def test_one_damaged_file_hides_no_other_run(store, name, damage):
    folder = store.scan()[0][0].folder
    DAMAGE[damage](folder / name)
    evidence = read_evidence(store)
    if name == "environment.json" and "digits" in damage:
        assert not evidence.problems  # an object like any other
        return
    assert len(evidence.sound) == 3
    assert len(evidence.problems) == 1 and str(folder / name) in evidence.problems[0]


def test_the_unfinished_copy_with_more_epochs_counts(tmp_path):
    spec = specs_of_rows(seeds=(1,), epochs=9)[0]
    for name in ("a", "b"):
        write_run(tmp_path / name, spec, finished=False)
    metrics = tmp_path / "a" / spec.id / "metrics.jsonl"
    metrics.write_text(metrics.read_text().partition("\n")[0] + "\n")
    for order in (("a", "b"), ("b", "a")):
        (run,) = read_evidence([Store(tmp_path / name) for name in order]).runs
        assert run.store == tmp_path / "b" and len(run.metrics) == 3


def test_a_result_on_all_images_answers_for_as_many_or_more(store):
    run = read_evidence(store).runs[0]
    whole = run.attacks["paper-pgd"]
    assert run.attack("paper-pgd") is whole
    assert run.attack("paper-pgd", ProtocolOptions(images=10_000)) is whole
    assert run.attack("paper-pgd", ProtocolOptions(images=500)) is None
    assert run.attack("autoattack") is None


def test_tables_and_findings_read_no_file_and_evidence_reads_each_once(tmp_path, monkeypatch):
    noises = [one for name, one in EXPERIMENTS.items() if name.endswith("-noise")]
    for spec in noises[0].specs("full")[:6]:
        write_run(tmp_path, spec)
    reads: Counter[Path] = Counter()
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (reads.update([path]), read_bytes(path))[1])
    evidence = read_evidence(Store(tmp_path))
    assert len(reads) == 6 * 7 and set(reads.values()) == {1}
    for experiment in noises:
        findings(collect(experiment, evidence), evidence)
    assert reads.total() == 6 * 7
