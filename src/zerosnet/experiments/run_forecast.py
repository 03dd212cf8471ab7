"""The forecast of a run's network, from its spec alone: neither torch nor weights are needed."""

from zerosnet.errors import InputError
from zerosnet.models import find_name
from zerosnet.numerics import Forecast, Scheme, forecast
from zerosnet.training import RunSpec


def scheme_of_run(spec: RunSpec) -> Scheme | None:
    """Return the fixed scheme of a run's multistep blocks; None if it has several, or trains its coefficients."""
    if spec.scheme is not None or spec.block_schemes is not None:
        return spec.scheme
    try:
        return find_name(spec.model)[0].scheme
    except InputError:  # a record of a network that has no name any more
        return None


def forecast_of_run(spec: RunSpec) -> Forecast | None:
    """Forecast a run's network before its training.

    It is None for networks without a fixed scheme, with growing initial weights, or of other sizes than CIFAR's.
    """
    scheme = scheme_of_run(spec)
    if scheme is None or spec.init_growth is not None:
        return None
    try:
        return forecast(
            scheme,
            find_name(spec.model)[1],
            dataset=spec.dataset,
            stage_change=spec.stage_change or "project-each",
            beta_growth=1 if spec.beta_growth is None else spec.beta_growth,
            normalised="_nonorm" not in spec.model,
        )
    except InputError:  # a size that no wiring is known for
        return None


def predicted_accuracy(spec: RunSpec) -> float | None:
    """Predict the test accuracy of a run in per cent; None unless the law was calibrated for its data and recipe."""
    found = forecast_of_run(spec)
    if found is None or spec.recipe.name != found.law.recipe or spec.changes or spec.validation is not None:
        return None
    return found.prediction.accuracy
