"""The wiring of a network, and the shares of its blocks that the coefficients alone predict."""

from zerosnet.errors import InputError
from zerosnet.models.diagnosis.inputs import require_single
from zerosnet.models.network import Network
from zerosnet.models.stepping.streams import StreamCoefficients
from zerosnet.numerics import BOTTLENECK_STEM, STEM, Wiring

_COLOURS = 3


def wiring_of_network(model: Network) -> Wiring:
    """Build the wiring of a network from the coefficients that its blocks have now, fixed or trained."""
    coefficients = require_single(model).stack.coefficients
    if isinstance(coefficients, StreamCoefficients):
        return coefficients.wiring(model.config.structure)
    schemes = model.schemes()
    if not schemes:
        raise InputError("model has coefficients that are not finite; expected a network that did not diverge")
    return Wiring.per_block(schemes, model.config.structure.blocks, model.config.stage_change)


def predicted_shares(model: Network) -> list[float] | None:
    """Predict rms(beta f) / rms(y_{n+1}) of every block at initialisation, for images of unit variance.

    Returns:
        One share per block, or None for networks that the closed form is not about: without normalisation f grows
        with the state, and at ImageNet's size projections take an activated state.
    """
    structure = require_single(model).config.structure
    if not structure.normalised or structure.size != "cifar":
        return None
    stem = BOTTLENECK_STEM if structure.block == "bottleneck" else STEM * model.in_chans / _COLOURS
    return [float(share) for share in wiring_of_network(model).shares(stem)]
