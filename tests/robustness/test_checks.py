"""Every sanity check passes on sound numbers and fails on the fault it is there for."""

import json

import pytest

from zerosnet.robustness.attacks import sanity as checks
from zerosnet.robustness.protocols.result import Check, ProtocolResult, ResultRow

MORE_STEPS = "more steps not weaker than fewer"
PGD = {"step": 0.0025, "steps": 20}


def row(method: str, accuracy: float, eps: float | None = None, access: str | None = None, **other) -> ResultRow:
    reach = other.pop("reach", eps)
    settings = other.pop("settings", PGD | {"step": eps / 4} if method.startswith("pgd") and eps else {})
    return ResultRow(method, method, accuracy, round(accuracy * 1000), 1000, access, eps, reach, settings)


def sound() -> list[ResultRow]:
    return [
        row("clean", 0.9),
        row("fgsm", 0.6, 0.01, "white-box"),
        row("fgsm", 0.5, 0.02, "white-box"),
        row("pgd-20", 0.5, 0.01, "white-box"),
        row("pgd-20", 0.3, 0.02, "white-box"),
        row("pgd-50", 0.29, 0.02, "white-box", settings={"step": 0.005, "steps": 50}),
        row("transfer", 0.7, 0.01, "black-box"),
        row("random signs", 0.89, 0.02, "black-box"),
        row("huge eps", 0.0, 0.5, "white-box"),
    ]


def failed(rows: list[ResultRow], known: float | None = None) -> list[str]:
    return [check.name for check in checks.sanity_checks(rows, 10, known) if check.passed is False]


def not_made(rows: list[ResultRow]) -> list[str]:
    return [check.name for check in checks.sanity_checks(rows, 10) if check.passed is None]


def test_sound_numbers_pass_every_check():
    assert failed(sound(), known=0.901) == [] and not_made(sound()) == []


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (row("pgd-20", 0.6, 0.03, "white-box"), "accuracy falls with eps"),
        (row("pgd-20", 0.302, 0.03, "white-box"), "accuracy falls with eps"),
        (row("pgd-50", 0.65, 0.01, "white-box", settings=PGD | {"norm": "linf"}), "PGD not weaker than FGSM"),
        (row("pgd-100", 0.4, 0.02, "white-box", settings={"step": 0.005, "steps": 100}), MORE_STEPS),
        (row("huge eps", 0.1, 0.5, "white-box"), "eps 0.5 leaves about nothing"),
        (row("transfer", 0.2, 0.02, "black-box"), "black box not stronger than white box"),
        (row("pgd-7", 0.1, 0.9, "white-box", settings={"step": 0.01, "steps": 7}), "eps and step in [0, 1] units"),
        (row("pgd-7", 0.1, 8.0, "white-box", settings={"step": 2.0, "steps": 7}), "eps and step in [0, 1] units"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.method,
)
def test_a_fault_fails_its_check_and_no_other(fault, name):
    assert failed([*sound(), fault]) == [name]


@pytest.mark.parametrize("images", [60, 355, 1000, 10_000])
def test_one_image_more_is_never_a_fault_whatever_their_number(images):
    def some(method: str, correct: int, eps: float | None) -> ResultRow:
        return ResultRow(
            method, method, correct / images, correct, images, None if eps is None else "white-box", eps, eps
        )

    for correct in range(images - 60, images):
        rows = [some("clean", images, None), some("fgsm", correct, 0.01), some("fgsm", correct + 1, 0.02)]
        assert checks.falls_with_eps(rows).passed


@pytest.mark.parametrize("accuracy, faults", [(0.301, []), (0.302, [MORE_STEPS])])
def test_more_steps_are_allowed_one_image_in_a_thousand(accuracy, faults):
    more = row("pgd-50", accuracy, 0.02, "white-box", settings={"step": 0.005, "steps": 50})
    assert failed([one for one in sound() if one.method != "pgd-50"] + [more]) == faults


@pytest.mark.parametrize("other", [{"step": 0.01}, {"step": 0.005, "restarts": 5}])
def test_more_steps_of_another_attack_are_not_compared(other):
    more = row("pgd-100", 0.4, 0.02, "white-box", settings={"steps": 100} | other)
    assert failed([*sound(), more]) == []


@pytest.mark.parametrize(
    ("methods", "names"),
    [
        (["huge eps"], ["eps 0.5 leaves about nothing"]),
        (["transfer", "random signs"], ["black box not stronger than white box"]),
        (["fgsm"], ["PGD not weaker than FGSM"]),
        (["pgd-50"], [MORE_STEPS]),
    ],
    ids=lambda value: value[0],
)
def test_a_check_without_its_rows_has_neither_passed_nor_failed(methods, names):
    rows = [one for one in sound() if one.method not in methods]
    assert not_made(rows) == names and failed(rows) == []


def test_clean_rows_alone_allow_no_check_of_an_attack():
    made = [check.name for check in checks.sanity_checks([row("clean", 0.9)], 10) if check.passed is not None]
    assert made == ["clean accuracy"]


def test_checks_that_were_not_made_are_no_warnings_and_outlive_json():
    rows = (row("clean", 0.9), row("fgsm", 0.5, 0.01, "white-box"))
    result = ProtocolResult("paper-fgsm", rows, checks.sanity_checks(rows, 10))
    assert result.warnings == [] and "eps 0.5 leaves about nothing: no attack of that eps" in result.not_made
    assert ProtocolResult.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_results_stored_with_fewer_checks_are_read():
    old = {"name": "eps 0.5 leaves about nothing", "passed": True, "detail": "as it should be"}
    stored = ProtocolResult("paper-fgsm").to_json() | {"checks": [old]}
    assert ProtocolResult.from_json(stored).checks == (Check(**old),)


@pytest.mark.parametrize("norm, faults", [("l2", []), ("linf", ["eps and step in [0, 1] units"])])
def test_only_an_l2_radius_may_exceed_1(norm, faults):
    settings = {"step": 0.5, "steps": 20, "norm": norm}
    assert failed([*sound(), row("pgd-20 far", 0.1, 2.0, "white-box", settings=settings)]) == faults


@pytest.mark.parametrize(
    "harmless",
    [
        row("pgd-20", 0.301, 0.03, "white-box"),  # one image in a thousand is no evidence
        row("random signs", 0.91, 0.03, "black-box"),
        row("transfer", 0.1, 0.02, "black-box", reach=0.035),  # not comparable: another reach
    ],
    ids=lambda one: one.method,
)
def test_what_is_no_fault_fails_no_check(harmless):
    assert failed([*sound(), harmless]) == []


def test_a_network_no_better_than_chance_or_than_its_training_is_a_warning():
    assert failed([row("clean", 0.1), row("huge eps", 0.0, 0.5, "white-box")]) == ["clean accuracy"]
    assert failed(sound(), known=0.95) == ["clean accuracy"]


def test_failed_checks_are_the_warnings_of_a_result():
    rows = (*sound(), row("huge eps", 0.1, 0.5, "white-box"))
    result = ProtocolResult("pgd-whitebox", rows, checks.sanity_checks(rows, 10))
    assert result.warnings == ['failed check "eps 0.5 leaves about nothing": 10.00% at 0.5']
    assert result.to_json()["warnings"] == result.warnings
