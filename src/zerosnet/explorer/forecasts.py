"""JSON documents of networks before training: the forecast of a scheme, and accuracy over pairs of roots."""

from functools import cache
from typing import Any

import numpy as np

from zerosnet.errors import InputError
from zerosnet.explorer.documents import is_outlier
from zerosnet.explorer.limits import BadParameter
from zerosnet.numerics import Scheme, accuracy_of_pairs, forecast, load_law, measured_pairs

_REACH = 1.5
_COLUMNS, _ROWS = 241, 121


def forecast_document(scheme: Scheme, layers: int) -> dict[str, Any]:
    """Compute what `zerosnet predict --json` prints."""
    try:
        return forecast(scheme, layers).to_json()
    except InputError as error:
        raise BadParameter("layers", str(error)) from None


@cache
def map_document() -> dict[str, Any]:
    """Predict accuracy on a grid over the upper half plane of r, bottom row first, and list the measured networks.

    The schemes are the consistent ones with roots 1, r and the conjugate of r, in networks of 56 layers.
    """
    re, im = np.linspace(-_REACH, _REACH, _COLUMNS), np.linspace(0, _REACH, _ROWS)
    accuracy = accuracy_of_pairs(re + 1j * im[:, None])
    return {
        "layers": 56,
        "re": [-_REACH, _REACH],
        "im": [0.0, _REACH],
        "accuracy": accuracy.round(2).tolist(),
        "measured": [
            {
                "scheme": one.scheme,
                "root": [r.real, r.imag],
                "accuracy": one.accuracy,
                "runs": one.runs,
                "predicted": one.left_out,
                "outlier": is_outlier(load_law().predict(one.wiring), one.accuracy),
            }
            for r, one in measured_pairs()
        ],
    }
