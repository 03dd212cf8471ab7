"""The page about many GPUs says what the experiments and the measured rates give."""

import json
from pathlib import Path

import pytest
from tests.docs.blocks import DOCS, load_file

from zerosnet.experiments import EXPERIMENTS, cost

scaling = load_file("extensions/scaling.py")


def test_the_tables_of_the_page_are_what_the_script_writes() -> None:
    text = scaling.PAGE.read_text(encoding="utf-8")
    assert scaling.written(text) == text, "run: python docs/extensions/scaling.py"


def test_the_numbers_in_its_sentences_are_right() -> None:
    text = " ".join((DOCS / "scaling.md").read_text(encoding="utf-8").split())
    assert f"takes {scaling._against_ten(1):.1f} times as long for each" in text
    epochs = {spec.recipe.epochs for spec in EXPERIMENTS["table-imagenet"].specs("full")}
    images = epochs.pop() * scaling.IMAGES
    assert not epochs and f"150 epochs are {images / 1e6:.0f} million images" in text
    assert f"{images / 1000 / 3600:.1f} hours at 1,000 images a second" in text
    then, now = (
        json.loads((scaling.RESULTS / f"{name}.json").read_text())["sources"][-1]["loader, decoded by the GPU"]
        for name in ("imagenet-cuda-18", "imagenet-cuda")
    )
    said = f"as a loader alone it gave {then:,.0f} images a second in that run, and {now:,.0f} in the later one of 50"
    assert said in text


def test_ten_networks_on_one_gpu_take_what_was_measured_and_more_gpus_help() -> None:
    specs = EXPERIMENTS["table-zerosnet-cifar10"].specs("full")[:10]
    assert {spec.model for spec in specs} == {"zerosnet32", "zerosnet32_opt"}  # which train as one
    alone = scaling._makespan(specs, 1)
    assert alone == pytest.approx(cost(specs).gpu_seconds)
    assert alone / 10 < scaling._makespan(specs, 8) < alone
    assert scaling._makespan(specs, 64) == scaling._makespan(specs[:1], 1)


def test_rates_of_imagenet_are_read_from_the_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "RESULTS", tmp_path)
    assert all(line.count("not measured yet") == 3 for line in scaling.imagenet_table()[2:])
    measured = {"sources": [{"zerosnet50_opt": 9e9}, {"source": "made files", "zerosnet50_opt": 4000.0}]}
    (tmp_path / "imagenet-cuda.json").write_text(json.dumps(measured))
    *others, ours = scaling.imagenet_table()[2:]
    assert ours == "| `zerosnet50_opt` | 256 | 4,000 | 13.3 h | 100 min |"
    assert all("not measured yet" in line for line in others)
