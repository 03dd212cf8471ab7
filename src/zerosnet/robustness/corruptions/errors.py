"""Numbers of protocol `corruptions`: errors by corruption and severity, and the mean corruption error.

For a network and a reference (Hendrycks and Dietterich, 2019), E the error and s the severity,

    mCE = mean over corruptions of  sum_s E_s / sum_s E_s(reference)
    relative mCE = mean over corruptions of  sum_s (E_s - E_clean) / sum_s (E_s - E_clean)(reference)

Frost is outside of the mean if its texture was generated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from zerosnet.errors import InputError
from zerosnet.robustness.corruptions.regenerated import CORRUPTIONS
from zerosnet.robustness.protocols.result import ProtocolResult

_LEAST = 1e-9  # points; less is a rounding error


@dataclass(frozen=True)
class CorruptionErrors:
    """Errors of one network or of the mean of several, in percent.

    Attributes:
        by_severity: Per corruption, one error for each severity.
        source: "regenerated" or "published".
    """

    clean: float
    by_severity: dict[str, tuple[float, ...]]
    source: str

    @property
    def counted(self) -> list[str]:
        """The corruptions that the means are made of."""
        return [name for name in self.by_severity if name not in CORRUPTIONS or CORRUPTIONS[name].published]

    @property
    def mean(self) -> float:
        """The mean error over corruptions and severities."""
        return mean(mean(self.by_severity[name]) for name in self.counted)


def corruption_errors(results: Sequence[ProtocolResult]) -> CorruptionErrors:
    """Average the results of protocol `corruptions` over networks.

    Raises:
        InputError: There is no result, or they are not of the same corruptions.
    """
    if not results or not all(result.rows for result in results):
        raise InputError("results has none that was measured; expected at least one of protocol corruptions")
    each = [_errors(result) for result in results]
    if any((one.keys(), source) != (each[0][0].keys(), each[0][1]) for one, source in each):
        raise InputError("results are of different corruptions; expected the same of all networks")
    keys = [key for key in each[0][0] if key is not None]
    averaged = {key: 100 * mean(one[key] for one, _ in each) for key in each[0][0]}
    names = dict.fromkeys(name for name, _ in keys)
    by_severity = {name: tuple(averaged[key] for key in keys if key[0] == name) for name in names}
    return CorruptionErrors(averaged[None], by_severity, each[0][1])


def _errors(result: ProtocolResult) -> tuple[dict[tuple[str, int] | None, float], str]:
    """Errors by corruption and severity, the clean one under None, and where the images are from."""
    found: dict[tuple[str, int] | None, float] = {}
    source = "published"
    for row in result.rows:
        if row.method == "clean":
            found[None] = 1 - row.accuracy
        elif row.method == "corruption":
            found[row.settings["corruption"], row.settings["severity"]] = 1 - row.accuracy
            source = row.settings.get("source", source)
    return found, source


def mean_corruption_error(network: CorruptionErrors, reference: CorruptionErrors, *, relative: bool = False) -> float:
    """The mean corruption error in percent of the reference's; `relative`: of what is lost to corruption only.

    Raises:
        InputError: The two were measured with different corruptions, or the reference makes no error under one, or
            (`relative`) loses nothing to it.
    """
    if network.source != reference.source or network.counted != reference.counted:
        raise InputError("reference has other corruptions than the network; expected the same, from the same source")

    def size(errors: CorruptionErrors, name: str) -> float:
        return sum(error - (errors.clean if relative else 0.0) for error in errors.by_severity[name])

    for name in network.counted:
        if size(reference, name) < _LEAST:
            what = f"loses nothing to {name}" if relative else f"makes no error under {name}"
            raise InputError(f"reference {what}; expected one that does: there is no ratio to nothing")
    return 100 * mean(size(network, name) / size(reference, name) for name in network.counted)
