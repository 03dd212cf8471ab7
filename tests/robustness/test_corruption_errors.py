"""Mean corruption errors, on made-up results."""

import pytest

from zerosnet.errors import InputError
from zerosnet.robustness import ProtocolResult, ResultRow, corruption_errors, mean_corruption_error


def result(clean: float, source: str = "regenerated", **accuracies: tuple[float, ...]) -> ProtocolResult:
    rows = [ResultRow("clean", "clean", clean, 0, 100)]
    for name, values in accuracies.items():
        for severity, accuracy in enumerate(values, start=1):
            settings = {"corruption": name, "severity": severity, "source": source}
            rows.append(ResultRow(f"{name} {severity}", "corruption", accuracy, 0, 100, settings=settings))
    return ProtocolResult("corruptions", tuple(rows))


ONE = result(0.9, fog=(0.8, 0.6), snow=(0.7, 0.7), frost_generated=(0.1, 0.1))
OTHER = result(0.9, fog=(0.6, 0.6), snow=(0.85, 0.85), frost_generated=(0.9, 0.9))


def test_networks_are_averaged_by_corruption_and_severity_and_generated_frost_is_outside_the_mean():
    assert corruption_errors([ONE]).counted == ["fog", "snow"] and corruption_errors([ONE]).mean == pytest.approx(30)
    assert corruption_errors([ONE, OTHER]).by_severity["fog"] == pytest.approx((30, 40))


def test_the_mean_corruption_error_is_a_mean_of_ratios():
    one, other = corruption_errors([ONE]), corruption_errors([OTHER])
    assert mean_corruption_error(one, other) == pytest.approx(100 * (60 / 80 + 60 / 30) / 2)
    assert mean_corruption_error(one, one) == mean_corruption_error(one, one, relative=True) == pytest.approx(100)
    assert mean_corruption_error(one, other, relative=True) == pytest.approx(100 * (40 / 60 + 40 / 10) / 2)


def test_there_is_no_ratio_to_a_reference_without_errors_or_without_losses():
    one, faultless = corruption_errors([ONE]), corruption_errors([result(1, fog=(1, 1), snow=(0.9, 0.8))])
    with pytest.raises(InputError, match="reference makes no error under fog"):
        mean_corruption_error(one, faultless)
    kept = corruption_errors([result(0.9, fog=(0.5, 0.5), snow=(0.7 + 0.2, 0.9))])
    with pytest.raises(InputError, match="reference loses nothing to snow"):
        mean_corruption_error(one, kept, relative=True)


def test_different_corruptions_are_not_compared():
    with pytest.raises(InputError, match="same source"):
        mean_corruption_error(corruption_errors([ONE]), corruption_errors([result(0.9, "published", fog=(0.5,))]))
    with pytest.raises(InputError, match="different corruptions"):
        corruption_errors([ONE, result(0.9, fog=(0.5,))])
    with pytest.raises(InputError, match="at least one"):
        corruption_errors([ProtocolResult("corruptions", not_run="no files")])
