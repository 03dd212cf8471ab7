"""A new protocol: salt-and-pepper noise, a share of the pixels set to black or white."""

from collections.abc import Iterator

import torch
from torch import Tensor

from zerosnet.data import stream
from zerosnet.robustness import PROTOCOLS, Measurement, Protocol, ProtocolOptions, Subject, under

SHARES = (0.0, 0.05, 0.2)
SEED = 1


def salt_and_pepper(images: Tensor, index: Tensor, share: float) -> Tensor:
    """Set this share of the pixels, in all channels alike, to 0 or 1; which ones depends on seed and index alone."""
    size = images.shape[-2:]
    draws = [torch.rand(2, *size, generator=stream(SEED, "salt and pepper", i)) for i in index.tolist()]
    drawn = torch.stack(draws).to(images.device)
    chosen, white = drawn[:, :1] < share, (drawn[:, 1:] < 0.5).to(images.dtype)
    return torch.where(chosen, white, images)


def measure(target: Subject, options: ProtocolOptions) -> list[Measurement]:
    def versions(images: Tensor, labels: Tensor, index: Tensor) -> Iterator[Tensor]:
        return (salt_and_pepper(images, index, share) for share in SHARES)

    right = under(target, len(SHARES), versions)
    return [
        Measurement(f"salt and pepper {share:g}", "noise", each, settings={"share": share, "seed": SEED})
        for share, each in zip(SHARES, right)
    ]


SALT_AND_PEPPER = Protocol(
    name="salt-and-pepper",
    what="a share of the pixels set to black or white",
    measure=measure,
    adversarial=False,
)


def register() -> None:
    """Make it known in this process: to `run_protocol("salt-and-pepper", ...)` and `attack_runs`."""
    PROTOCOLS[SALT_AND_PEPPER.name] = SALT_AND_PEPPER
