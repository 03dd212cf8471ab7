"""Randomised smoothing (Cohen et al., 2019, arXiv 1902.02918): certificates that no attack within a radius can break.

The smoothed classifier g answers with the class that a network f gives most often to an image with Gaussian noise,

    g(x) = argmax_c P( f(x + e) = c ),   e ~ N(0, sigma^2 I).

If the first class has probability p > 1/2, g answers the same everywhere within the L2 radius sigma Phi^-1(p) of x. An
exact binomial interval (Clopper and Pearson, 1934) bounds p from below; if the bound is not above 1/2, g abstains.
Images are in [0, 1], and noise is not clipped. Noise depends on the image's index and the number of the sample alone.
"""

import math
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.files import is_number, is_whole
from zerosnet.robustness.classifiers import each_replica, frozen, replica_logits, require_seed, unit_images
from zerosnet.robustness.perturbations.counter import counted_normal
from zerosnet.robustness.protocols.attacked import Subject, most_at_once
from zerosnet.robustness.protocols.names import SIGMA

SAMPLES = 10_000
GUESSES = 100
ALPHA = 0.001
IMAGES = 500
SEED = 1
_MOST_SAMPLES = 1 << 24


def lower_bound(hits: npt.ArrayLike, samples: int, alpha: float = ALPHA) -> npt.NDArray[np.float64]:
    """The exact lower bound of a probability, of which `hits` of `samples` draws were seen; it is wrong with `alpha`.

    It is the p at which so many hits, or more, have probability alpha: a quantile of a beta distribution.
    """
    from scipy.special import betaincinv

    seen = np.asarray(hits, dtype=np.float64)
    if not ((seen >= 0) & (seen <= samples)).all():
        raise InputError(f"hits are {hits!r}; expected numbers from 0 to {samples}, the samples")
    return np.where(seen > 0, betaincinv(np.maximum(seen, 1), samples - seen + 1, alpha), 0.0)


def certified_radius(hits: npt.ArrayLike, samples: int, sigma: float, alpha: float = ALPHA) -> npt.NDArray[np.float64]:
    """The certified L2 radius, sigma Phi^-1(lower bound); NaN if the smoothed classifier abstains."""
    from scipy.special import ndtri

    bound = lower_bound(hits, samples, alpha)
    return np.where(bound > 0.5, sigma * ndtri(np.maximum(bound, 0.5)), np.nan)


def fewest_samples(alpha: float = ALPHA) -> int:
    """Count the samples without which no radius can be certified: alpha^(1/n) > 1/2 needs n > log2(1/alpha)."""
    return math.floor(-math.log2(alpha)) + 1


def require_samples(samples: int, alpha: float = ALPHA) -> None:
    """Raise an error unless so many samples can certify a radius, and have numbers of their own."""
    fewest = fewest_samples(alpha)
    if not (is_whole(samples) and fewest <= samples < _MOST_SAMPLES // 2):
        raise InputError(
            f"samples is {samples!r}; expected a whole number from {fewest} to {_MOST_SAMPLES // 2 - 1}: fewer than "
            f"{fewest} certify nothing, at alpha {alpha:g}"
        )


@dataclass(frozen=True, eq=False)
class Certificates:
    """What the smoothed classifier answers for N images and K replicas, and how far it is certain.

    Attributes:
        answers: The class, (N, K); it is not certified if the radius is NaN.
        radii: The certified L2 radius, (N, K); NaN if it abstains.
    """

    answers: Tensor
    radii: Tensor

    @property
    def abstained(self) -> Tensor:
        return self.radii.isnan()

    def certified(self, labels: Tensor, radius: float) -> Tensor:
        """Find which images are answered correctly, and certified to be within a radius, (N, K)."""
        right = self.answers == labels.cpu()[:, None]
        return right & (self.radii >= radius)


def certify(
    target: Subject,
    sigma: float = SIGMA,
    *,
    samples: int = SAMPLES,
    guesses: int = GUESSES,
    alpha: float = ALPHA,
    seed: int = SEED,
) -> Certificates:
    """Certify every image of a subject: guess the class by some samples, then bound its probability by others.

    Args:
        target: The network, or fused replicas, which all see the same noise.
        sigma: Standard deviation of the noise, for images of [0, 1].
        samples: For the bound.
        guesses: For the class, drawn apart from the others.
        alpha: The probability that a certificate is wrong.
        seed: Draws other noise.
    """
    if not (is_number(sigma) and sigma > 0):
        raise InputError(f"sigma is {sigma!r}; expected a number above 0")
    if not (is_number(alpha) and 0 < alpha < 1):
        raise InputError(f"alpha is {alpha!r}; expected a number between 0 and 1")
    require_samples(samples, alpha)
    require_seed(seed)
    if not (is_whole(guesses) and 1 <= guesses < _MOST_SAMPLES // 2):
        raise InputError(f"guesses is {guesses!r}; expected a whole number from 1 to {_MOST_SAMPLES // 2 - 1}")
    first = count_answers(target, sigma, guesses, seed=seed)
    counts = count_answers(target, sigma, samples, begin=guesses, seed=seed)
    answers = first.argmax(-1)
    hits = counts.gather(-1, answers[..., None])[..., 0]
    radii = certified_radius(hits.numpy(), samples, float(sigma), alpha)
    return Certificates(answers, torch.from_numpy(radii))


@torch.no_grad()
def count_answers(target: Subject, sigma: float, samples: int, *, begin: int = 0, seed: int = SEED) -> Tensor:
    """Count how often each class is the answer for noisy copies of each image, (N, K, classes).

    `begin` is the number of the first sample. Pairs of image and sample fill batches, so that a few images with many
    samples keep a device as busy as many images.
    """
    device = target.images.device
    counts = torch.zeros(len(target), target.replicas, target.num_classes, dtype=torch.int64, device=device)
    position = torch.tensor([seed, crc32(b"smoothing")], dtype=torch.int64, device=device)
    images, index = unit_images(target.images), target.index.to(device)
    numbers, batch = images[0].numel(), max(target.batch, most_at_once(target.model, images))
    with frozen(target.model):
        for start in range(0, len(target) * samples, batch):
            pair = torch.arange(start, start + batch, device=device)  # always a whole batch: one shape
            inside = pair < len(target) * samples
            image, sample = (pair // samples).clamp_max(len(target) - 1), begin + pair % samples
            noise = counted_normal(index[image] * _MOST_SAMPLES + sample, position, numbers)
            noisy = images[image] + sigma * noise.view(-1, *images.shape[1:])
            logits = replica_logits(target.model, each_replica(noisy, target.replicas))
            answer = logits.argmax(-1)
            counted = (inside[:, None] & ~logits.isnan().any(-1)).long()  # NaN is no answer
            replica = torch.arange(answer.shape[1], device=device).expand_as(answer)
            counts.index_put_((image[:, None].expand_as(answer), replica, answer), counted, accumulate=True)
            target.advance(min(batch, len(target) * samples - start))
    return counts.cpu()
