"""Attacks by the gradient of the loss with respect to the input: FGSM and PGD, on one network or on fused replicas.

PGD (Madry et al., 2018) climbs the loss L(x, y) inside a ball of radius eps around the image x_0:

    x_{t+1} = clip_[0,1]( P( x_t + step * d(grad_x L(x_t, y)) ) )

with d the steepest direction of the norm (sign for L-infinity, g/|g| for L2) and P the projection on the ball.
FGSM (Goodfellow et al., 2015) is one step of size eps from x_0. An attack is a value, `Attack`; images, radii and steps
are in [0, 1] units. Replicas of a fused network are attacked side by side, each with its own gradient.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from zerosnet.data import stream
from zerosnet.errors import InputError
from zerosnet.robustness.classifiers import (
    each_replica,
    frozen,
    is_right,
    labels_per_replica,
    replica_logits,
    replicas_of,
    require_count,
    require_index,
    require_labels,
    require_logits,
    require_size,
    require_unit_images,
    unit_images,
)


class AttackNorm(NamedTuple):
    """Geometry of a perturbation of shape (B, K, C, H, W), one ball for every image of every replica."""

    direction: Callable[[Tensor], Tensor]
    project: Callable[[Tensor, float], Tensor]
    start: Callable[[torch.Size, torch.Generator], Tensor]
    largest: float
    """The largest radius that means something: in L-infinity a ball of radius 1 holds all images."""


def _length(delta: Tensor) -> Tensor:
    return delta.flatten(-3).norm(dim=-1)[..., None, None, None].clamp_min(1e-12)


def _unit(gradient: Tensor) -> Tensor:
    """g / |g| for gradients of any size, also those whose squares underflow or overflow; 0 stays 0."""
    largest = gradient.flatten(-3).abs().amax(-1)[..., None, None, None]
    scaled = gradient / torch.where(largest > 0, largest, 1)
    return scaled / _length(scaled)


def _in_unit_ball(shape: torch.Size, generator: torch.Generator) -> Tensor:
    direction = torch.randn(shape, generator=generator)
    radius = torch.rand((), generator=generator) ** (1 / direction.numel())
    return radius * direction / _length(direction)


NORMS = {
    "linf": AttackNorm(
        direction=torch.sign,
        project=lambda delta, eps: delta.clamp(-eps, eps),
        start=lambda shape, generator: 2 * torch.rand(shape, generator=generator) - 1,
        largest=1.0,
    ),
    "l2": AttackNorm(
        direction=_unit,
        project=lambda delta, eps: delta * (eps / _length(delta)).clamp_max(1),
        start=_in_unit_ball,
        largest=math.inf,
    ),
}


@dataclass(frozen=True)
class Attack:
    """A gradient attack; `pgd` and `fgsm` make the usual ones.

    Untargeted, it climbs the loss of the true labels; `targeted`, it descends the loss of labels that it is given.
    Without `projection` it may leave the ball, as far as steps * step. Starts depend on `seed`, the image's index and
    the number of the restart alone.
    """

    eps: float
    step: float
    steps: int
    norm: str = "linf"
    restarts: int = 1
    random_start: bool = True
    projection: bool = True
    targeted: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.norm, str) or self.norm not in NORMS:
            raise InputError(f"norm is {self.norm!r}; expected one of {', '.join(NORMS)}")
        norm = NORMS[self.norm]
        for name, value in (("eps", self.eps), ("step", self.step)):
            require_size(name, value, norm.largest)
        for name, count in (("steps", self.steps), ("restarts", self.restarts)):
            require_count(name, count)
        if self.restarts > 1 and not self.random_start:
            raise InputError(f"restarts is {self.restarts} without random start; every restart would be the same")

    @property
    def reach(self) -> float:
        """The largest distance from the image that the attack can reach, in its norm."""
        return self.eps if self.projection else self.steps * self.step

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "reach": self.reach}


def pgd(eps: float, steps: int = 20, *, step: float | None = None, **options: Any) -> Attack:
    """PGD with `steps` steps of size eps/4 unless told otherwise; `options` are the other fields of `Attack`."""
    if step is None:
        step = eps / 4 if isinstance(eps, int | float) else math.nan  # `Attack` reports what is wrong with eps
    return Attack(eps, step, steps, **options)


def fgsm(eps: float, **options: Any) -> Attack:
    """The fast gradient sign method: one step of size eps, from the image itself."""
    return Attack(eps, eps, 1, random_start=False, **options)


def log_odds(logits: Tensor, labels: Tensor) -> Tensor:
    """m = log((1 - p_y) / p_y), the log-odds that the label is wrong, (B, K).

    Logits are (B, K, classes); labels are (B,), or (B, K) if every replica has its own. The cross-entropy is
    log(1 + e^m), so both rise together and their gradients point the same way. But if p_y rounds to 1, the gradient
    of the cross-entropy rounds to 0, and a network that is sure of itself would look robust.
    """
    chosen = labels_per_replica(labels, logits.shape[1])[..., None]
    others = logits.scatter(-1, chosen, -math.inf)
    return others.logsumexp(-1) - logits.gather(-1, chosen).squeeze(-1)


def input_gradient(model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    """Compute the gradient of each replica's log-odds with respect to its images, (B, K*C, H, W).

    Elements that are not finite become 0: an attack must not win by breaking the image. A network without any gradient
    is refused: attacks would find nothing, and it would look robust.
    """
    with torch.enable_grad():
        images = images.detach().requires_grad_(True)
        odds = log_odds(replica_logits(model, images).float(), labels)
        found = torch.autograd.grad(odds.sum(), images, allow_unused=True) if odds.requires_grad else (None,)
    gradient = found[0]
    if gradient is None:
        raise InputError("the logits have no gradient with respect to the images; an attack that follows it cannot run")
    return gradient.nan_to_num(0.0, 0.0, 0.0)


def climb(model: nn.Module, images: Tensor, labels: Tensor, attack: Attack, start: Tensor | None = None) -> Tensor:
    """Run the attack once from images + eps * start; images and result are (B, K*C, H, W).

    The model must be frozen (see `frozen`) and in evaluation mode; `attack_images` takes care of both.
    """
    norm, sign = NORMS[attack.norm], -1.0 if attack.targeted else 1.0
    apart = (len(images), replicas_of(model), -1, *images.shape[2:])
    adversarial = images if start is None else (images + attack.eps * start).clamp(0, 1)
    for _ in range(attack.steps):
        gradient = input_gradient(model, adversarial, labels)
        move = norm.direction(gradient.reshape(apart)).reshape(images.shape)
        adversarial = adversarial + sign * attack.step * move
        if attack.projection:
            adversarial = images + norm.project((adversarial - images).reshape(apart), attack.eps).reshape(images.shape)
        adversarial = adversarial.clamp(0, 1)
    return adversarial


def draw_starts(attack: Attack, index: Tensor, shape: torch.Size, restart: int) -> Tensor | None:
    """Draw random points of the unit ball, one per image, (len(index), C, H, W); None without a random start."""
    if not attack.random_start:
        return None
    draw = NORMS[attack.norm].start
    return torch.stack([draw(shape, stream(attack.seed, f"{attack.norm} start", i, restart)) for i in index.tolist()])


class AttackOutcome(NamedTuple):
    """Images found by an attack, (B, K*C, H, W), and for each replica, (B, K), whether it resists and what it cost.

    `resists` is "classified correctly", or targeted "not classified as the target"; `gain` is the log-odds that the
    label is wrong, or targeted that the target is right.
    """

    images: Tensor
    resists: Tensor
    gain: Tensor


def attempt(
    model: nn.Module, images: Tensor, labels: Tensor, attack: Attack, *, index: Tensor, restart: int = 0
) -> AttackOutcome:
    """Make one restart of the attack on a batch; the arguments are those of `attack_images`."""
    replicas = replicas_of(model)
    with frozen(model):
        own = each_replica(images, replicas) if _is_shared(model, images) else images
        start = draw_starts(attack, index, torch.Size((own.shape[1] // replicas, *own.shape[2:])), restart)
        start = None if start is None else each_replica(start.to(own), replicas)
        found = climb(model, own, labels, attack, start)
        return _judge(model, found, labels, attack.targeted)


def attack_images(
    model: nn.Module, images: Tensor, labels: Tensor, attack: Attack, *, index: Tensor | None = None
) -> AttackOutcome:
    """Attack a batch of images, (B, C, H, W), or (B, K*C, H, W) with images of each replica's own: uint8, or [0, 1].

    Per image and replica the strongest restart is kept: one that fools the network goes before one that does not, and
    then the one that gains more counts. Targeted, `labels` are the targets. `index` holds the images' places in their
    data set, on which the random starts depend (0, 1, 2, ... by default). The model is left as it was found.
    """
    require_unit_images(images)
    require_labels(labels, len(images), require_logits(model, images), replicas_of(model))
    images, labels, index = unit_images(images), labels.long(), torch.arange(len(images)) if index is None else index
    require_index(index, len(images))
    worst = attempt(model, images, labels, attack, index=index)
    for restart in range(1, attack.restarts):
        other = attempt(model, images, labels, attack, index=index, restart=restart)
        worst = _worse(worst, other)
    return worst


def _worse(one: AttackOutcome, other: AttackOutcome) -> AttackOutcome:
    better = (other.resists < one.resists) | (other.resists == one.resists) & (other.gain > one.gain)
    channels = one.images.shape[1] // better.shape[1]
    picked = torch.where(better.repeat_interleave(channels, 1)[..., None, None], other.images, one.images)
    return AttackOutcome(picked, one.resists & other.resists, torch.where(better, other.gain, one.gain))


@torch.no_grad()
def _judge(model: nn.Module, images: Tensor, labels: Tensor, targeted: bool) -> AttackOutcome:
    logits = replica_logits(model, images).float()
    reached, odds = is_right(logits, labels), log_odds(logits, labels)
    return AttackOutcome(images, ~reached, -odds) if targeted else AttackOutcome(images, reached, odds)


def _is_shared(model: nn.Module, images: Tensor) -> bool:
    """Check if all replicas get the same images; a `Normalised` network knows how many channels an image has."""
    return images.shape[1] == getattr(model, "channels", images.shape[1] // replicas_of(model))
