"""`zerosnet attack --protocol smoothing`: by which noise runs are smoothed, and what is kept of it."""

import json
from dataclasses import replace

import pytest
from tests.training import attacked
from tests.training.attacked import finished

from zerosnet.cli.attacked_runs import measure
from zerosnet.robustness import PROTOCOLS, ProtocolOptions, protocol
from zerosnet.training import Store

FEW = ["--images", "2", "--samples", "10", "--device", "cpu"]


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    """A network trained with noise of 0.5, and one without noise."""
    found = Store(tmp_path_factory.mktemp("noises"))
    finished(found, "zerosnet20_opt", 1, noise=0.5)
    finished(found, "preresnet20", 1)
    return found


def files(store, name):
    return sorted(path.name for path in store.find(name).folder.glob("attacks/*.json"))


def sigmas(call, store, *words):
    code, out, _ = call("attack", *words, "--protocol", "smoothing", *FEW, "--store", store.root, "--json")
    assert code == 0
    return {one["run"].partition("-")[0]: one["rows"][1]["settings"]["sigma"] for one in json.loads(out)}


def test_runs_are_smoothed_by_the_noise_of_their_training_or_else_the_usual_one(store, call):
    assert sigmas(call, store, "preresnet20", "zerosnet20_opt") == {"preresnet20": 0.25, "zerosnet20_opt": 0.5}


def test_results_of_different_noises_are_kept_apart(store, call):
    assert sigmas(call, store, "zerosnet20_opt") == {"zerosnet20_opt": 0.5}
    assert sigmas(call, store, "zerosnet20_opt", "--sigma", "1") == {"zerosnet20_opt": 1.0}
    assert sigmas(call, store, "zerosnet20_opt", "--sigma", "0.25") == {"zerosnet20_opt": 0.25}
    assert files(store, "zerosnet20_opt") == [
        "smoothing+images=2+samples=10.json",
        "smoothing-0.5+images=2+samples=10.json",
        "smoothing-1+images=2+samples=10.json",
    ]


def test_a_noise_that_was_measured_is_read_from_the_store(store, call):
    sigmas(call, store, "zerosnet20_opt", "--sigma", "0.7")
    words = ["--protocol", "smoothing", *FEW, "--store", store.root, "--sigma", "0.7"]
    assert "smoothing-0.7: 1 of 1 from the store" in call("attack", "zerosnet20_opt", *words)[2]


def test_the_table_names_the_noise_and_a_note_that_it_is_not_the_trained_one(store, call):
    _, out, _ = call("attack", "preresnet20", "zerosnet20_opt", "--protocol", "smoothing", *FEW, "--store", store.root)
    assert ", sigma 0.25\n" in out and ", sigma 0.5\n" in out
    (note,) = (line for line in out.splitlines() if "and is smoothed by" in line)
    assert "preresnet20" in note and note.endswith("was trained without noise, and is smoothed by 0.25")


def test_radii_of_different_noises_are_listed_in_rising_order(store, call):
    _, out, _ = call("attack", "preresnet20", "zerosnet20_opt", "--protocol", "smoothing", *FEW, "--store", store.root)
    lines = out.splitlines()
    radii = [float(line.split()[2]) for line in lines if line.startswith("certified")]
    assert radii == sorted(radii) and len(radii) == 25
    assert next(line for line in reversed(lines) if not line.startswith("note")).startswith("abstained")


@pytest.mark.parametrize(("images", "expected"), [(None, 3), (2, 2), (4, 4)])
def test_the_bar_ends_with_the_images_that_are_certified(store, monkeypatch, images, expected):
    monkeypatch.setitem(PROTOCOLS, "smoothing", replace(PROTOCOLS["smoothing"], images=3))
    told = {}

    def bar(label, total):
        told[label] = [total]
        return told[label].append

    measure(
        store, [store.find("preresnet20")], "smoothing", sigma=None, bar=bar, images=images, samples=12,
        device=attacked.CPU, again=True,
    )  # fmt: skip
    ((total, *parts),) = told.values()
    assert total == sum(parts) == expected * protocol("smoothing").passes(ProtocolOptions(samples=12))


def test_a_run_that_cannot_be_attacked_is_found_before_any_is(store, refused, tmp_path):
    broken = Store(tmp_path)
    finished(broken, "zerosnet20_opt", 1, noise=0.5)
    (broken.find(finished(broken, "preresnet20", 1)).weights).unlink()
    refused(["attack", "zerosnet20_opt", "preresnet20", "--protocol", "smoothing", *FEW, "--store", str(tmp_path)])
    assert not list(tmp_path.glob("*/attacks"))
