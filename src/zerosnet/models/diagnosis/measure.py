"""Block by block: how large the state is, what f adds to it, and how disturbances grow forwards and backwards.

Forwards a finite difference is taken, in float64: two runs, the second on images disturbed by 1e-6 of their size. It
needs no more of a layer than that it can be run (a forward derivative would need one of every kernel there may be),
and float64 leaves ten digits to the difference even if the state reaches 1e15. Backwards the gradient is exact.
"""

from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from zerosnet.errors import InputError
from zerosnet.models.diagnosis.inputs import (
    choose_statistics,
    network_name,
    require_batch,
    require_single,
    stage_of_blocks,
    working_copy,
)
from zerosnet.models.diagnosis.result import BlockDiagnosis, Diagnosis
from zerosnet.models.diagnosis.switched_off import tails
from zerosnet.models.layers.replicated import of_replica
from zerosnet.models.network import Network
from zerosnet.models.reading.calls import Example, require_weights
from zerosnet.models.reading.diagnose import diagnose_network
from zerosnet.models.reading.diagnosis import WiringDiagnosis
from zerosnet.models.stepping.stack import BlockStep
from zerosnet.models.stepping.streams import StreamCoefficients, StreamsLaw
from zerosnet.numerics import BOTTLENECK_STEM, STEM, Scheme, Wiring, companion

DISTURBANCE = 1e-6


@overload
def diagnose(  # type: ignore[overload-overlap]
    model: Network, images: Tensor, labels: Tensor | None = ..., *, statistics: str | None = ..., seed: int = ...
) -> Diagnosis: ...


@overload
def diagnose(
    model: nn.Module,
    images: Example,
    labels: None = ...,
    *,
    blocks: Iterable[str] | None = ...,
    statistics: str | None = ...,
    seed: int = ...,
) -> WiringDiagnosis: ...


@torch.inference_mode(False)  # gradients are needed, also where the caller wants none
def diagnose(
    model: nn.Module,
    images: Any,
    labels: Tensor | None = None,
    *,
    blocks: Iterable[str] | None = None,
    statistics: str | None = None,
    seed: int = 0,
) -> Diagnosis | WiringDiagnosis:
    """Diagnose a network on a batch of images (a few dozen do); the network itself stays as it is.

    Any residual network will do: for those of other packages the wiring is measured first (`wiring_of`), and `images`
    are whatever the network takes, such as a tensor of tokens or a dictionary of arguments.

    Args:
        labels: The loss whose gradient is followed is then cross-entropy (else the logits along a random direction),
            and accuracies are taken, also with f switched off from each block on.
        blocks: Names of modules that are residual blocks, for a network of another package whose blocks are not found.
        statistics: "running": batch norms as in eval mode; "batch": as in training. By default running ones if the
            network has any, and those of the batch if it was never trained: batch norm is then the identity in eval
            mode, and f grows with y, which it never does in training.

    Examples:
        >>> from torchvision.models import resnet18
        >>> found = diagnose(resnet18(), torch.randn(4, 3, 64, 64))
        >>> found.blocks[0].name, len(found.blocks), found.wiring.streams
        ('layer1.0.bn2', 8, 1)
    """
    require_weights(model)
    if not isinstance(model, Network) or has_streams(model):
        if labels is not None:
            raise InputError(
                "labels are given for a network from outside zerosnet, or of several streams; expected none"
            )
        if isinstance(model, Network):
            require_single(model)
        return diagnose_network(model, images, blocks=blocks, statistics=statistics, seed=seed)
    require_single(model)
    if blocks is not None:
        raise InputError(
            "blocks is given for a network of zerosnet, whose blocks are known; expected one from outside zerosnet"
        )
    chosen = choose_statistics(model, statistics)
    require_batch(images, labels, model.num_classes)
    images = images.clone() if images.is_inference() else images
    labels = None if labels is None else labels.long()
    schemes = model.schemes()
    if not schemes:
        raise InputError("model has coefficients that are not finite; expected a network that did not diverge")
    network = working_copy(model, chosen)
    generator = torch.Generator().manual_seed(seed)
    steps, backward = _backward(network.double(), images.double(), labels, generator)
    forward = _forward(network, images.double(), steps, generator)
    accuracies: Sequence[float | None] = [None] * len(steps)
    accuracy = None
    if labels is not None:
        measured = _accuracies(working_copy(model, chosen), images, labels)
        accuracies, accuracy = measured[:-1], measured[-1]
    ahead, behind = envelopes(schemes, _starts(network))
    predicted: Sequence[float | None] = predicted_shares(model) or [None] * len(steps)
    stages = stage_of_blocks(model)
    found = tuple(
        BlockDiagnosis(
            index=step.index,
            stage=stages[n],
            scheme=schemes[n],
            state_rms=_rms(step.state),
            residual_rms=_rms(step.slope) * abs(float(of_replica(step.row.betas[0], 0))),
            forward_growth=forward[n],
            backward_growth=backward[n],
            forward_envelope=ahead[n],
            backward_envelope=behind[n],
            accuracy_without=accuracies[n],
            predicted_share=predicted[n],
        )
        for n, step in enumerate(steps)
    )
    return Diagnosis(network_name(model), len(images), chosen, found, accuracy)


def has_streams(model: Network) -> bool:
    """Check if a network mixes several streams, and so has matrices in place of schemes."""
    return isinstance(model.config.law, StreamsLaw)


# -- measuring ---------------------------------------------------------------------------------------------------------


def _backward(
    network: Network, images: Tensor, labels: Tensor | None, generator: torch.Generator
) -> tuple[list[BlockStep], list[float]]:
    """The steps, and for each |dL/dy_{n+1}| / |dL/dy_N|, over all ways that y_{n+1} has to the loss."""
    with torch.enable_grad():
        first = network.first_state(images).requires_grad_()
        steps = list(network.stack.walk(first))
        logits = network.logits(steps[-1].state)
        if labels is None:
            direction = torch.randn(logits.shape, generator=generator, dtype=logits.dtype).to(logits.device)
            loss = (logits * direction).mean()
        else:
            loss = functional.cross_entropy(logits, labels)
        gradients = torch.autograd.grad(loss, [step.state for step in steps])
    norms = [gradient.norm().item() for gradient in gradients]
    return steps, [norm / norms[-1] if norms[-1] else float("nan") for norm in norms]


@torch.no_grad()
def _forward(network: Network, images: Tensor, steps: Sequence[BlockStep], generator: torch.Generator) -> list[float]:
    """rms of the difference that a disturbance of the images makes in every y_{n+1}, for rms 1 in y_0."""
    noise = torch.randn(images.shape, generator=generator, dtype=images.dtype).to(images.device)
    disturbed = images + DISTURBANCE * _rms(images) * noise
    first = _rms(network.first_state(disturbed) - network.first_state(images))
    pairs = zip(network.walk(disturbed), steps)
    return [_rms(there.state - here.state) / first if first else float("nan") for there, here in pairs]


def _accuracies(network: Network, images: Tensor, labels: Tensor) -> list[float]:
    """Accuracy with f off from block n on, for every n, and of the whole network at the end.

    In the precision of the network, float32 at least.
    """
    dtype = torch.promote_types(network.parameter_dtype, torch.float32)
    pairs = tails(network.to(dtype), images.to(dtype))
    return [(tail.logits.argmax(1) == labels).double().mean().item() for tail in pairs]


# -- predicting --------------------------------------------------------------------------------------------------------


def envelopes(schemes: Sequence[Scheme], starts: Sequence[bool]) -> tuple[list[float], list[float]]:
    """`numerics.growth.envelope` for blocks with a scheme each: forwards up to every block, and from it to the last.

    The envelope is the 1-norm of the first row of C_n ... C_1 (C_N ... C_{n+1} backwards), C being companion matrices.
    One-step blocks of the start-up are the identity; where the history starts afresh (`starts`), what was reached
    before multiplies what comes after.
    """
    steps = max(scheme.steps for scheme in schemes)
    matrices = [companion(scheme) if scheme.steps == steps else np.eye(steps) for scheme in schemes]
    ahead: list[float] = []
    before, product = 1.0, np.eye(steps)
    with np.errstate(over="ignore", invalid="ignore"):
        for matrix, start in zip(matrices, starts):
            if start:
                before, product = ahead[-1], np.eye(steps)
            product = matrix @ product
            ahead.append(before * float(np.abs(product[0]).sum()))
        behind, after, row = [1.0], 1.0, np.eye(steps)[0]
        for matrix, start in zip(matrices[:0:-1], starts[:0:-1]):
            row = row @ matrix
            behind.append(after * float(np.abs(row).sum()))
            if start:
                after, row = behind[-1], np.eye(steps)[0]
    return ahead, behind[::-1]


def _starts(network: Network) -> list[bool]:
    """Blocks that receive no history although they are not the first."""
    return [
        n > 0 and len(block.plan.states) == 1 and block.plan.keep_states > 1
        for n, block in enumerate(network.stack.steps)
    ]


def _rms(tensor: Tensor) -> float:
    return tensor.detach().square().mean().sqrt().item()


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
    stem = BOTTLENECK_STEM if structure.block == "bottleneck" else STEM * model.in_chans / 3
    return [float(share) for share in wiring_of_network(model).shares(stem)]
