"""Block by block: how large the state is, what f adds to it, and how disturbances grow forwards and backwards.

Forwards a finite difference is taken, in float64: two runs, the second on images disturbed by 1e-6 of their size. It
needs no more of a layer than that it can be run (a forward derivative would need one of every kernel there may be),
and float64 leaves ten digits to the difference even where the state reaches 1e15. Backwards the gradient is exact.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from zerosnet.errors import InputError
from zerosnet.models.diagnosis.switched_off import tails
from zerosnet.models.layers.replicated import BatchNorm, of_replica
from zerosnet.models.network import Network
from zerosnet.models.stepping.blocks import Block
from zerosnet.models.stepping.stack import BlockStep
from zerosnet.numerics import Scheme, companion, root_condition

DISTURBANCE = 1e-6
STATISTICS = ("running", "batch")


@dataclass(frozen=True)
class BlockDiagnosis:
    """Block n, which makes y_{n+1} out of y_n and its history."""

    index: int
    stage: int
    scheme: Scheme
    state_rms: float
    """rms(y_{n+1})"""
    residual_rms: float
    """rms(beta f(y_n))"""
    forward_growth: float
    """rms of a small disturbance in y_{n+1}, for rms 1 in y_0."""
    backward_growth: float
    """Norm of dL/dy_{n+1}, for norm 1 in dL/dy_N."""
    forward_envelope: float
    """The most that a disturbance of modulus 1 in the starting values can have grown to without f, by the scheme."""
    backward_envelope: float
    """The same from y_{n+1} and its history to y_N."""
    accuracy_without: float | None
    """Accuracy with f switched off from this block on."""

    @property
    def ratio(self) -> float:
        """rms(beta f) / rms(y): what the block adds to what it hands on."""
        return self.residual_rms / self.state_rms if self.state_rms else math.inf


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis of every block of a network on a batch of images."""

    model: str
    images: int
    statistics: str
    """Whose mean and variance the batch norms used: "running" or "batch"."""
    blocks: tuple[BlockDiagnosis, ...]
    accuracy: float | None
    """The accuracy of the whole network, if labels were given."""

    @property
    def scheme(self) -> Scheme | None:
        """The one scheme of all multistep blocks, where there is one; start-up blocks do not count."""
        schemes = set(self.multistep_schemes)
        return schemes.pop() if len(schemes) == 1 else None

    @property
    def multistep_schemes(self) -> list[Scheme]:
        steps = max(block.scheme.steps for block in self.blocks)
        return [block.scheme for block in self.blocks if block.scheme.steps == steps]

    @property
    def verdict(self) -> str:
        """The root condition's word on the scheme, or on how many of the blocks' own schemes are zero-stable."""
        if self.scheme is not None:
            return root_condition(self.scheme).kind
        schemes = self.multistep_schemes
        stable = sum(root_condition(scheme).zero_stable is True for scheme in schemes)
        return f"{stable} of {len(schemes)} blocks zero-stable"

    def effective_depth(self, least: float = 1e-2) -> int:
        """Count the blocks that add at least this share to the state."""
        return sum(block.ratio >= least for block in self.blocks)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready object; numbers that overflowed are null."""
        return {
            "model": self.model,
            "images": self.images,
            "statistics": self.statistics,
            "scheme": None if self.scheme is None else self.scheme.to_json(),
            "verdict": self.verdict,
            "effective_depth": self.effective_depth(),
            "accuracy": self.accuracy,
            "blocks": [
                {key: _finite(value) for key, value in asdict(block).items()}
                | {"scheme": block.scheme.to_json(), "ratio": _finite(block.ratio)}
                for block in self.blocks
            ],
        }


def diagnose(
    model: Network,
    images: Tensor,
    labels: Tensor | None = None,
    *,
    statistics: str | None = None,
    seed: int = 0,
) -> Diagnosis:
    """Diagnose a network on a batch of images (a few dozen do); the network itself stays as it is.

    labels      the loss whose gradient is followed is then cross-entropy (else the logits along a random direction),
                and accuracies are taken, also with f switched off from each block on
    statistics  "running": batch norms as in eval mode; "batch": as in training. By default running ones where the
                network has any, and those of the batch where it was never trained: batch norm is then the identity
                in eval mode, and f grows with y, which it never does in training
    """
    if not isinstance(model, Network) or model.replicas != 1:
        found = type(model).__name__ if not isinstance(model, Network) else f"a network of {model.replicas} replicas"
        raise InputError(f"model is {found}; expected a single network (`extract` cuts one out)")
    if statistics not in (None, *STATISTICS):
        raise InputError(f"statistics is {statistics!r}; expected one of {', '.join(STATISTICS)}, or None to choose")
    _require_batch(images, labels, model.num_classes)
    labels = None if labels is None else labels.long()
    schemes = model.schemes()
    if not schemes:
        raise InputError("model has coefficients that are not finite; expected a network that did not diverge")
    chosen = statistics or ("running" if _was_trained(model) else "batch")
    network = _copy(model, chosen)
    generator = torch.Generator().manual_seed(seed)
    steps, backward = _backward(network.double(), images.double(), labels, generator)
    forward = _forward(network, images.double(), steps, generator)
    accuracies: Sequence[float | None] = [None] * len(steps)
    accuracy = None
    if labels is not None:
        measured = _accuracies(_copy(model, chosen), images, labels)
        accuracies, accuracy = measured[:-1], measured[-1]
    ahead, behind = envelopes(schemes, _starts(network))
    widths = model.config.structure.traits.widths
    blocks = tuple(
        BlockDiagnosis(
            index=step.index,
            stage=widths.index(block.plan.width),
            scheme=schemes[n],
            state_rms=_rms(step.state),
            residual_rms=_rms(step.slope) * abs(float(of_replica(step.row.betas[0], 0))),
            forward_growth=forward[n],
            backward_growth=backward[n],
            forward_envelope=ahead[n],
            backward_envelope=behind[n],
            accuracy_without=accuracies[n],
        )
        for n, (step, block) in enumerate(zip(steps, _blocks(network)))
    )
    name = model.config.name or f"{model.config.structure.size} network of {model.config.structure.depth} layers"
    return Diagnosis(name, len(images), chosen, blocks, accuracy)


def _require_batch(images: Tensor, labels: Tensor | None, classes: int) -> None:
    """Complain about images that are no batch, and labels that are not one class an image."""
    for name, value in (("images", images), ("labels", labels)):
        if value is not None and not isinstance(value, Tensor):
            raise InputError(f"{name} are a {type(value).__name__}; expected a tensor")
    if not images.numel():
        raise InputError(f"images have shape {tuple(images.shape)}; expected at least one")
    if labels is None:
        return
    if labels.shape != images.shape[:1] or labels.is_floating_point() or labels.dtype == torch.bool:
        raise InputError(
            f"labels are {labels.dtype} of shape {tuple(labels.shape)}; expected one class for each of "
            f"{len(images)} images"
        )
    if not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        raise InputError(f"labels reach from {labels.min()} to {labels.max()}; expected 0 to {classes - 1}")


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
        n > 0 and len(block.plan.states) == 1 and block.plan.keep_states > 1 for n, block in enumerate(_blocks(network))
    ]


# -- the network -------------------------------------------------------------------------------------------------------


def _copy(model: Network, statistics: str) -> Network:
    network = copy.deepcopy(model).requires_grad_(False).train(statistics == "batch")
    network.conv_dtype = None
    return network


def _was_trained(model: nn.Module) -> bool:
    norms = [module for module in model.modules() if isinstance(module, BatchNorm)]
    return any(norm.running_mean.any() or (norm.running_var != 1).any() for norm in norms)


def _blocks(network: Network) -> list[Block]:
    return list(network.stack.blocks)  # type: ignore[arg-type]


def _rms(tensor: Tensor) -> float:
    return tensor.detach().square().mean().sqrt().item()


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
