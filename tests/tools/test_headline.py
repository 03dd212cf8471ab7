"""The README's sentence about the ten networks follows the runs that there are."""

import re

import pytest
from tests.report.synthetic import write_run
from tools.headline import answer

from zerosnet.experiments import EXPERIMENTS, Evidence, read_evidence
from zerosnet.training import Store

SPECS = [spec for spec in EXPERIMENTS["table-zerosnet-cifar10"].specs("full") if spec.model.startswith("zerosnet56")]


def said(folder, specs) -> str:
    for spec in specs:
        write_run(folder, spec)
    return " ".join(answer(read_evidence(Store(folder))).split())


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        ({1}, "recipe, so far one seed: the six"),
        ({1, 2}, "recipe, so far means of two seeds: the six"),
        ({1, 2, 3}, "recipe, means of three seeds: the six"),
    ],
)
def test_it_says_how_many_seeds_there_are(tmp_path, seeds, words):
    assert words in said(tmp_path, [spec for spec in SPECS if spec.seed in seeds])


def test_networks_with_unlike_numbers_of_seeds_are_said_to_be(tmp_path):
    assert "so far means of one to two seeds:" in said(tmp_path, SPECS[:11])


def test_accuracies_are_means_over_seeds_beside_the_papers(tmp_path):
    text = said(tmp_path, SPECS)
    means = []
    for first in (spec for spec in SPECS if spec.seed == 1):
        alike = [spec for spec in SPECS if (spec.model, spec.scheme) == (first.model, first.scheme)]
        evidence = read_evidence(Store(tmp_path))
        means.append(sum(100 * evidence.sound[spec.id].record.result.best_test_accuracy for spec in alike) / 3)
    low, high = sorted(means)[4:][0], max(means)
    assert f"six zero-stable networks reach {low:.2f} to {high:.2f} % (the paper prints 92.42 to 94.04)" in text
    assert re.search(r"four others [\d.]+ to [\d.]+ % \(the paper prints 78.29 to 83.11\)", text)
    assert "and noise leaves every one of the former above every one of the latter. " in text
    assert "the first 5 of 27 blocks" in text


def test_without_noise_and_ablation_nothing_is_said_of_them(tmp_path):
    for spec in SPECS[:10]:
        write_run(tmp_path, spec, attacks=False)
    text = answer(read_evidence(Store(tmp_path)))
    assert text.endswith("83.11).") and "noise" not in text


def test_nothing_measured_says_so():
    assert answer(Evidence()) == "Nothing has been measured yet."
