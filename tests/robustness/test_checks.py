"""Every sanity check passes on sound numbers and fails on the fault it is there for."""

import pytest

from zerosnet.robustness import checks
from zerosnet.robustness.result import Result, Row

PGD = {"step": 0.0025, "steps": 20}


def row(method: str, accuracy: float, eps: float | None = None, access: str | None = None, **other) -> Row:
    reach = other.pop("reach", eps)
    settings = other.pop("settings", PGD | {"step": eps / 4} if method.startswith("pgd") and eps else {})
    return Row(method, method, accuracy, round(accuracy * 1000), 1000, access, eps, reach, settings)


def sound() -> list[Row]:
    return [
        row("clean", 0.9),
        row("fgsm", 0.6, 0.01, "white-box"),
        row("fgsm", 0.5, 0.02, "white-box"),
        row("pgd-20", 0.5, 0.01, "white-box"),
        row("pgd-20", 0.3, 0.02, "white-box"),
        row("transfer", 0.7, 0.01, "black-box"),
        row("random signs", 0.89, 0.02, "black-box"),
        row("huge eps", 0.0, 0.5, "white-box"),
    ]


def failed(rows: list[Row], known: float | None = None) -> list[str]:
    return [check.name for check in checks.sanity_checks(rows, 10, known) if not check.passed]


def test_sound_numbers_pass_every_check():
    assert failed(sound(), known=0.901) == []


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (row("pgd-20", 0.6, 0.03, "white-box"), "accuracy falls with eps"),
        (row("pgd-50", 0.55, 0.02, "white-box"), "PGD not weaker than FGSM"),
        (row("huge eps", 0.1, 0.5, "white-box"), "eps 0.5 leaves about nothing"),
        (row("transfer", 0.2, 0.02, "black-box"), "black box not stronger than white box"),
        (row("pgd-7", 0.1, 0.9, "white-box", settings={"step": 0.01, "steps": 7}), "eps and step in [0, 1] units"),
        (row("pgd-7", 0.1, 8.0, "white-box", settings={"step": 2.0, "steps": 7}), "eps and step in [0, 1] units"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.method,
)
def test_a_fault_fails_its_check_and_no_other(fault, name):
    assert failed([*sound(), fault]) == [name]


def test_one_image_in_a_thousand_is_no_evidence():
    assert failed([*sound(), row("pgd-20", 0.301, 0.03, "white-box")]) == []
    assert failed([*sound(), row("pgd-20", 0.302, 0.03, "white-box")]) == ["accuracy falls with eps"]


@pytest.mark.parametrize("images", [60, 355, 1000, 10_000])
def test_one_image_more_is_never_a_fault_whatever_their_number(images):
    def some(method: str, correct: int, eps: float | None) -> Row:
        return Row(method, method, correct / images, correct, images, None if eps is None else "white-box", eps, eps)

    for correct in range(images - 60, images):
        rows = [some("clean", images, None), some("fgsm", correct, 0.01), some("fgsm", correct + 1, 0.02)]
        assert checks.falls_with_eps(rows).passed


def test_random_noise_that_does_no_harm_is_no_fault_of_an_attack():
    assert failed([*sound(), row("random signs", 0.91, 0.03, "black-box")]) == []


def test_attacks_of_different_reach_are_not_compared():
    assert failed([*sound(), row("transfer", 0.1, 0.02, "black-box", reach=0.035)]) == []


def test_a_network_no_better_than_chance_is_a_warning():
    rows = [row("clean", 0.1), row("huge eps", 0.0, 0.5, "white-box")]
    assert failed(rows) == ["clean accuracy"]


def test_another_clean_accuracy_than_in_training_is_a_warning():
    assert failed(sound(), known=0.95) == ["clean accuracy"]


def test_failed_checks_are_the_warnings_of_a_result():
    rows = (*sound(), row("huge eps", 0.1, 0.5, "white-box"))
    result = Result("pgd-whitebox", rows, checks.sanity_checks(rows, 10))
    assert result.warnings == ["eps 0.5 leaves about nothing: 10.00% at 0.5"]
    assert result.to_json()["warnings"] == result.warnings
