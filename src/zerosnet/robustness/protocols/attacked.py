"""The subject of an attack, and which of its images each replica still gets right under noise, attack or transfer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from zerosnet.data import image_weight, stream
from zerosnet.errors import InputError
from zerosnet.robustness.attacks.gradient import Attack, attempt, climb
from zerosnet.robustness.classifiers import (
    each_replica,
    fast,
    frozen,
    is_right,
    replica_logits,
    replicas_of,
    require_count,
    require_labels,
    require_logits,
    require_unit_images,
    unit_images,
)
from zerosnet.robustness.perturbations.noises import NOISE_SEED, Noise, draw_field, shifted

CPU_BATCH = 256  # images of 32 x 32
CUDA_IMAGES = 5_000  # such images times replicas in one pass with gradients: a third of the memory of a large GPU


@dataclass(frozen=True, eq=False)
class Subject:
    """A network that takes images of [0, 1] (see `Normalised`), the images, and their labels; made by `subject`.

    model       one network, or K fused replicas
    images      (N, C, H, W), uint8 or floats of [0, 1], on the device of the model
    surrogate   another network, on which examples for a transfer attack are made
    index       the images' places in their data set: what is random depends on these
    batch       how many images are taken at a time; results do not depend on it
    advance     called with the work that is done, in passes of one image: for a progress bar
    """

    model: nn.Module
    images: Tensor
    labels: Tensor
    num_classes: int
    surrogate: nn.Module | None
    index: Tensor
    batch: int
    advance: Callable[[int], None] = lambda passes: None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def replicas(self) -> int:
        return replicas_of(self.model)

    def chosen(self, count: int | None, seed: int = 1) -> "Subject":
        """Choose `count` images at random, by the seed alone; all of them if there are no more."""
        if count is not None:
            require_count("count", count)
        if count is None or count >= len(self):
            return self
        picked = torch.randperm(len(self), generator=stream(seed, "chosen images"))[:count].sort().values
        there = picked.to(self.images.device)
        part = replace(self, images=self.images[there], labels=self.labels[there], index=self.index[picked])
        return replace(part, batch=min(self.batch, count))

    def compiled(self) -> "Subject":
        """Return the subject with networks in their fastest form, for CUDA; call it after the checks, which use another
        shape."""
        size = (self.images.shape[2], self.images.shape[3])
        surrogate = None if self.surrogate is None else fast(self.surrogate, size)
        return replace(self, model=fast(self.model, size), surrogate=surrogate)

    def chunks(self, positions: Tensor | None = None) -> Iterator[Tensor]:
        """Split positions (all by default) into pieces of `batch`; on CUDA the last one is filled up to that size."""
        positions = torch.arange(len(self)) if positions is None else positions
        for begin in range(0, len(positions), self.batch):
            chunk = positions[begin : begin + self.batch]
            if self.images.is_cuda and len(chunk) < self.batch:
                chunk = torch.cat([chunk, chunk[-1:].expand(self.batch - len(chunk))])
            yield chunk

    def at(self, chunk: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return images as floats, labels and index of these positions."""
        there = chunk.to(self.images.device)
        return unit_images(self.images[there]), self.labels[there], self.index[chunk]


def subject(
    model: nn.Module, images: Tensor, labels: Tensor, *, surrogate: nn.Module | None = None, batch: int | None = None
) -> Subject:
    """Check everything that can be wrong before any work is done, and put it together."""
    require_unit_images(images)
    classes = require_logits(model, images)
    if surrogate is not None and (found := require_logits(surrogate, images)) != classes:
        raise InputError(f"the surrogate has {found} classes; expected {classes}, as the network has")
    require_labels(labels, len(images), classes)
    if batch is not None:
        require_count("batch", batch)
    if batch is None:
        batch = most_at_once(model, images)
    passes = -(-len(images) // batch)
    return Subject(
        model, images, labels.long(), classes, surrogate, torch.arange(len(images)), -(-len(images) // passes)
    )


def most_at_once(model: nn.Module, images: Tensor) -> int:
    """Choose how many such images a network takes at a time on their device."""
    most = max(CUDA_IMAGES // replicas_of(model), 64) if images.is_cuda else CPU_BATCH
    return max(1, most // image_weight(images))


Versions = Callable[[Tensor, Tensor, Tensor], Iterable[Tensor]]


@torch.no_grad()
def under(target: Subject, count: int, versions: Versions, passes: int | None = None) -> Tensor:
    """Find which images each replica gets right in each of `count` versions of them, (count, N, K).

    `versions` yields the versions, made from the images, labels and index of a batch; `passes` is what an image costs.
    """
    right = torch.zeros(count, len(target), target.replicas, dtype=torch.bool)
    with frozen(target.model):
        for chunk in target.chunks():
            images, labels, index = target.at(chunk)
            shown = (each_replica(version, target.replicas) for version in versions(images, labels, index))
            hits = [is_right(replica_logits(target.model, images), labels) for images in shown]
            right[:, chunk] = torch.stack(hits).cpu()
            target.advance(len(chunk) * (count if passes is None else passes))
    return right


def under_noises(target: Subject, noises: Sequence[Noise], seed: int = NOISE_SEED) -> Tensor:
    """Find which noisy images each replica gets right, (noises, N, K); levels of one kind share their field."""
    kinds = {noise.field for noise in noises if noise.field is not None}

    def noisy(images: Tensor, labels: Tensor, index: Tensor) -> Iterator[Tensor]:
        fields = {kind: draw_field(kind, index, images.shape[1:], seed).to(images.device) for kind in kinds}
        for noise in noises:
            yield shifted(images, noise, fields.get(noise.field or ""))

    return under(target, len(noises), noisy)


def under_attack(target: Subject, attack: Attack, resisting: Tensor | None = None) -> Tensor:
    """Find which images each replica gets right under every restart of an attack that sees its gradients, (N, K).

    `resisting` marks the images to attack (all by default). If it marks those that are right when clean, the image
    itself counts as an attack, as it should. A restart skips images on which every replica has already been fooled.
    """
    _require_untargeted(attack)
    shape = (len(target), target.replicas)
    if resisting is not None and (resisting.dtype != torch.bool or resisting.shape != shape):
        raise InputError(f"resisting is {resisting.dtype} of shape {tuple(resisting.shape)}; expected bool {shape}")
    resists = torch.ones(shape, dtype=torch.bool) if resisting is None else resisting.clone()
    for restart in range(attack.restarts):
        standing = resists.any(1).nonzero()[:, 0]
        target.advance((len(target) - len(standing)) * (attack.steps + 1))
        for chunk in target.chunks(standing):
            images, labels, index = target.at(chunk)
            found = attempt(target.model, images, labels, attack, index=index, restart=restart)
            resists[chunk] &= found.resists.cpu()
            target.advance(len(chunk) * (attack.steps + 1))
    return resists


def under_transfer(target: Subject, attacks: Sequence[Attack]) -> Tensor:
    """Find which examples each replica gets right, (attacks, N, K); they are made on the surrogate alone."""
    surrogate = target.surrogate
    if surrogate is None:
        raise InputError("a transfer attack needs a surrogate, and there is none")
    _require_untargeted(*attacks)
    if any(attack.random_start for attack in attacks):
        raise InputError("transfer attacks start at the image; expected random_start=False")

    def examples(images: Tensor, labels: Tensor, index: Tensor) -> Iterator[Tensor]:
        return (climb(surrogate, images, labels, attack) for attack in attacks)

    with frozen(surrogate):
        return under(target, len(attacks), examples, passes_of(attacks))


def passes_of(attacks: Iterable[Attack]) -> int:
    """Count the passes of an image that attacks take at most: one per step, and one to see the outcome."""
    return sum(attack.restarts * (attack.steps + 1) for attack in attacks)


def _require_untargeted(*attacks: Attack) -> None:
    if any(attack.targeted for attack in attacks):
        raise InputError("the attack is targeted, and a subject has no targets; attack_images takes them as labels")
