"""The options of the benchmark that compares versions of the kernels."""

import pytest
from benchmarks import kernels, versions
from tools.markdown_tables import benchmark


@pytest.fixture(autouse=True)
def timed(monkeypatch):
    monkeypatch.setattr(kernels, "measure_step", lambda layers, replicas: {"ms": 1.0})
    monkeypatch.setattr(versions, "evaluation_ms", lambda batch: 2.0)


def test_the_command_of_the_record_measures_its_cases():
    record = benchmark("kernel-versions")
    words = record["command"].partition("VERSIONS ")[2].partition(" (")[0].split()
    rows = list(versions.measured(versions.parsed(words)))
    (steps,) = {len(version["steps"]) for version in record["versions"]}
    assert [ms for _, ms in rows] == [1.0] * steps + [2.0] * len(record["versions"][0]["evaluation_ms"])
    batches = [name.rpartition(" ")[2] for name, ms in rows if ms == 2.0]
    assert batches == list(record["versions"][0]["evaluation_ms"])


def test_the_first_case_is_timed_again_unless_once_is_asked_for():
    names = [name for name, _ in versions.measured(versions.parsed(["folder"]))]
    assert names[len(versions.STEPS) - 1] == f"{names[0]}, again"
    assert len(names) == len(versions.STEPS) + len(versions.BATCHES)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("words", [[], ["--once"], ["--kernels", "--batches", "500", "1000"]])
def test_the_process_of_a_version_gets_the_options(words, few):
    given, here = versions.parsed(["folder", *words]), versions.parsed(versions.words_of(versions.parsed(words), few))
    assert (here.here, here.few, here.versions) == (True, few, None)
    assert (here.once, here.kernels, list(here.batches)) == (given.once, given.kernels, list(given.batches))
