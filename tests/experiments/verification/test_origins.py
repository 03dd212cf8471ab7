"""Commits, sources and predictions, in small histories of their own."""

import json
import shutil
import subprocess

import pytest

from zerosnet.environment import ORIGIN_MARKS, digest, origin_problem
from zerosnet.experiments import verify_store
from zerosnet.experiments.verification.history import GitHistory

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def checkout(store):
    """A repository with the store in it and a package, of one file, beside it."""
    root = store.root.parent
    package = root / "src" / "zerosnet"
    package.mkdir(parents=True)
    (package / "environment.py").write_text("first = 1\n")
    git(root, "init", "-q")
    return root


def git(root, *arguments):
    name = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.invalid", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *name, *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(root, *paths):
    git(root, "add", *paths)
    git(root, "commit", "-q", "-m", "a step")
    return git(root, "rev-parse", "HEAD")


def record(folder, **changes):
    path = folder / "environment.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def predict(root, run, date="2026-01-01 00:00 UTC", name="all.json"):
    path = root / "predictions" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"date": date, "predictions": [{"run": run}]}))
    return path


def outcome(store):
    found = verify_store(store.root)
    return [one.what for one in found.problems], [one.what for one in found.notes], found.checked


def without_origin(store):
    for path in [*store.root.glob("*/*.json"), *store.root.glob("*/attacks/*.json")]:
        data = json.loads(path.read_text())
        for part in (data, data.get("environment", {})):
            part.pop("git", None)
            part.pop("source", None)
            part.pop("begun", None)
        path.write_text(json.dumps(data))


def test_a_commit_that_is_not_in_the_history_is_a_problem(store, folder, checkout):
    without_origin(store)
    record(folder, git={"commit": "0" * 40, "dirty": False})
    assert outcome(store)[0] == ["its commit 000000000000 is not in the history"]


def test_sources_are_compared_with_those_of_the_commit(store, folder, checkout):
    without_origin(store)
    made = commit(checkout, "src")
    same = digest([("environment.py", b"first = 1\n")])
    assert GitHistory(checkout).source_digest(made) == same
    record(folder, git={"commit": made, "dirty": False}, source=same)
    assert outcome(store)[0] == []
    record(folder, source="0")
    assert "and it names no change" in outcome(store)[0][0]
    record(folder, git={"commit": made, "dirty": None})
    problems, notes, _ = outcome(store)
    assert problems == [] and f"its sources are not those of commit {made[:12]}: uncommitted changes" in notes


def test_runs_without_a_commit_or_with_uncommitted_changes_are_noted(store, folder, stopped):
    without_origin(store)
    record(folder, git={"commit": "1" * 40, "dirty": True})
    notes = outcome(store)[1]
    assert "trained with uncommitted changes" in notes and "no commit recorded" in notes


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({}, None),
        ({"git": None}, "no commit recorded"),
        ({"git": None, "source": "ab"}, None),
        ({"git": {"commit": "ab", "dirty": None}}, None),
        ({"git": {"commit": "ab", "dirty": True}}, "uncommitted changes"),
    ],
)
def test_only_results_of_unknown_or_changed_code_have_a_mark(environment, problem):
    assert origin_problem(environment) == problem
    assert problem is None or problem in ORIGIN_MARKS


def test_a_prediction_in_the_history_of_the_runs_commit_is_older(store, folder, checkout):
    without_origin(store)
    predict(checkout, folder.name)
    trained = commit(checkout, "src", "predictions")
    record(folder, git={"commit": trained, "dirty": False})
    problems, notes, checked = outcome(store)
    assert problems == [] and checked["predictions"] == 2
    assert not any("predictions are" in note for note in notes)


def test_a_prediction_committed_before_the_record_only_is_noted(store, folder, checkout):
    without_origin(store)
    trained = commit(checkout, "src")
    record(folder, git={"commit": trained, "dirty": False})
    predict(checkout, folder.name)
    commit(checkout, "predictions")
    commit(checkout, "store")
    problems, notes, _ = outcome(store)
    assert problems == [] and any("1 predictions are older than the records" in note for note in notes)


def test_a_prediction_of_a_run_that_was_there_already_is_noted_as_none(store, folder, checkout):
    without_origin(store)
    commit(checkout, "src", "store")
    predict(checkout, folder.name)
    commit(checkout, "predictions")
    problems, notes, _ = outcome(store)
    assert problems == [] and any("they count as none" in note for note in notes)


def test_a_prediction_committed_with_its_run_is_a_problem(store, folder, checkout):
    without_origin(store)
    predict(checkout, folder.name)
    commit(checkout, "src", "predictions", "store")
    assert "its prediction in all.json is not older than the run" in outcome(store)[0]


@pytest.mark.parametrize(("begun", "right"), [("2026-01-02 00:00 UTC", True), ("2025-12-31 00:00 UTC", False)])
def test_dates_decide_without_git(store, folder, begun, right):
    without_origin(store)
    predict(store.root.parent, folder.name)
    record(folder, begun=begun)
    assert (outcome(store)[0] == []) is right


def test_an_edited_prediction_is_a_problem_and_an_added_one_is_none(store, folder, checkout):
    without_origin(store)
    path = predict(checkout, "none")
    made = commit(checkout, "src", "predictions")
    data = json.loads(path.read_text())
    path.write_text(json.dumps({"predictions": [*data["predictions"], {"run": "another"}]}))
    assert outcome(store)[0] == []
    path.write_text(json.dumps({"predictions": [{"run": "none", "accuracy": 99}]}))
    assert outcome(store)[0] == [f"predictions were edited after commit {made[:12]}"]


def test_a_file_that_holds_no_predictions_is_a_problem(store):
    (store.root.parent / "predictions").mkdir()
    (store.root.parent / "predictions" / "a.json").write_text("[]")
    assert any("is no file of predictions" in what for what in outcome(store)[0])
