"""How much of its depth a network uses, by the measures of the literature.

All take a single network of this package and a batch of images, and leave the network as it is. Batch norms use
`statistics`, "running" or "batch"; by default those of the batch if the network was never trained.

- deleting one block, the others on: Veit, Wilber, Belongie, Residual networks behave like ensembles (2016)
- cosine of contribution and state: Csordas, Manning, Potts, Do language models use their depth efficiently? (2025)
- block influence: Men et al., ShortGPT (2024)
- logit lens: nostalgebraist, Interpreting GPT: the logit lens (2020)
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from zerosnet.models.diagnosis.inputs import (
    choose_statistics,
    network_name,
    require_batch,
    require_single,
    stage_of_blocks,
    working_copy,
)
from zerosnet.models.diagnosis.result import finite_or_none
from zerosnet.models.diagnosis.switched_off import logits_without_each, tails
from zerosnet.models.layers.replicated import of_replica
from zerosnet.models.network import Network
from zerosnet.models.stepping.stack import BlockStep

_LEAST_NORM = 1e-300


@dataclass(frozen=True)
class BlockDepth:
    """The measures of block n, which makes y_{n+1}; accuracies are fractions.

    Attributes:
        accuracy_deleted: Accuracy with f off in this block alone.
        accuracy_without: Accuracy with f off from this block on.
        accuracy_without_reestimated: The same with batch norm re-estimated on the images.
        cosine: Cosine of beta f and what it is added to; negative if the block erases more than it adds.
        influence: 1 - cosine of y_n and y_{n+1}.
        lens_accuracy: Accuracy of the head on y_{n+1}; None before the last stage, whose shape the head takes.
        lens_agreement: Fraction of images for which that head predicts what the whole network does.
    """

    index: int
    stage: int
    accuracy_deleted: float
    accuracy_without: float
    accuracy_without_reestimated: float
    cosine: float
    influence: float
    lens_accuracy: float | None
    lens_agreement: float | None


@dataclass(frozen=True)
class DepthMeasures:
    """The measures of every block, and the accuracy of the whole network, also with its head re-estimated."""

    model: str
    images: int
    statistics: str
    accuracy: float
    accuracy_reestimated: float
    blocks: tuple[BlockDepth, ...]

    def to_json(self) -> dict[str, Any]:
        """Write a JSON-ready object; numbers that overflowed are null."""
        blocks = [{key: finite_or_none(value) for key, value in asdict(block).items()} for block in self.blocks]
        return {**asdict(self), "blocks": blocks}


def measure_depth(model: Network, images: Tensor, labels: Tensor, *, statistics: str | None = None) -> DepthMeasures:
    """Take all measures of depth on a batch of images with labels."""
    chosen = choose_statistics(require_single(model), statistics)
    require_batch(images, labels, model.num_classes)
    *without, accuracy = accuracies_without_rest(model, images, labels, statistics=chosen)
    *again, accuracy_again = accuracies_without_rest(model, images, labels, statistics=chosen, reestimate=True)
    deleted = accuracies_without_block(model, images, labels, statistics=chosen)
    cosines = contribution_cosines(model, images, statistics=chosen)
    influences = block_influences(model, images, statistics=chosen)
    lens = logit_lens(model, images, statistics=chosen)
    decided = _predictions(lens[-1])
    blocks = []
    for n, stage in enumerate(stage_of_blocks(model)):
        seen = lens[n]
        guessed = None if seen is None else _predictions(seen)
        blocks.append(
            BlockDepth(
                index=n,
                stage=stage,
                accuracy_deleted=deleted[n],
                accuracy_without=without[n],
                accuracy_without_reestimated=again[n],
                cosine=cosines[n],
                influence=influences[n],
                lens_accuracy=None if guessed is None else _fraction(guessed == labels),
                lens_agreement=None if guessed is None else _fraction(guessed == decided),
            )
        )
    return DepthMeasures(network_name(model), len(images), chosen, accuracy, accuracy_again, tuple(blocks))


def accuracies_without_block(
    model: Network, images: Tensor, labels: Tensor, *, statistics: str | None = None
) -> list[float]:
    """Measure the accuracy with f switched off in one block, for every block; all others work."""
    network, batch = _prepare(model, images, labels, statistics)
    return _accuracies(logits_without_each(network, batch), labels)


def accuracies_without_rest(
    model: Network, images: Tensor, labels: Tensor, *, statistics: str | None = None, reestimate: bool = False
) -> list[float]:
    """Measure the accuracy with f switched off from each block on, and of the whole network at the end.

    reestimate: batch norms behind that block take mean and variance from the images. Without it, the measure shows
    what the rest has adapted to as well as what the blocks do.
    """
    network, batch = _prepare(model, images, labels, statistics)
    return _accuracies((tail.logits for tail in tails(network, batch, reestimate=reestimate)), labels)


def contribution_cosines(model: Network, images: Tensor, *, statistics: str | None = None) -> list[float]:
    """Measure the cosine of beta f and the sum that it is added to, over channels, in the mean of pixels and images."""
    cosines = []
    for step in _walk(model, images, statistics):
        contribution = float(of_replica(step.row.betas[0], 0)) * step.slope
        cosines.append(_cosine(contribution, step.state - contribution))
    return cosines


def block_influences(model: Network, images: Tensor, *, statistics: str | None = None) -> list[float]:
    """Measure 1 - cosine of y_n and y_{n+1}, over channels, in the mean of pixels and images.

    At a change of shape y_n is what the projection makes of it.
    """
    return [1 - _cosine(step.states[0], step.state) for step in _walk(model, images, statistics)]


def logit_lens(model: Network, images: Tensor, *, statistics: str | None = None) -> list[Tensor | None]:
    """Apply the head to the state after every block: logits, or None for states of another shape than the last."""
    network, batch = _prepare(model, images, None, statistics)
    with torch.no_grad():
        states = [step.state for step in network.walk(batch)]
        return [network.logits(state) if state.shape == states[-1].shape else None for state in states]


def _prepare(model: Network, images: Tensor, labels: Tensor | None, statistics: str | None) -> tuple[Network, Tensor]:
    """Check the arguments, and return a copy in float32 or wider with images of that type."""
    chosen = choose_statistics(require_single(model), statistics)
    require_batch(images, labels, model.num_classes)
    dtype = torch.promote_types(model.parameter_dtype, torch.float32)
    return working_copy(model, chosen).to(dtype), images.to(dtype)


@torch.no_grad()
def _walk(model: Network, images: Tensor, statistics: str | None) -> Iterator[BlockStep]:
    """Walk through the blocks in float64: states of unstable schemes reach 1e15."""
    network, batch = _prepare(model, images, None, statistics)
    yield from network.double().walk(batch.double())


def _cosine(a: Tensor, b: Tensor) -> float:
    first, second = (functional.normalize(tensor, dim=1, eps=_LEAST_NORM) for tensor in (a, b))
    return float((first * second).sum(1).mean())


def _accuracies(logits: Iterable[Tensor], labels: Tensor) -> list[float]:
    return [_fraction(_predictions(one) == labels) for one in logits]


def _predictions(logits: Tensor | None) -> Tensor:
    assert logits is not None, "the last state has the shape of the last state"
    return logits.argmax(1)


def _fraction(hits: Tensor) -> float:
    return hits.double().mean().item()
