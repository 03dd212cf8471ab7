"""An adapter to AutoAttack (Croce and Hein, 2020): the official implementation, or its packaged fork."""

from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from zerosnet.errors import MissingExtra
from zerosnet.robustness.normalised import frozen
from zerosnet.robustness.subject import Subject, under

PACKAGES = ("autoattack", "pyautoattack")


def require_autoattack() -> Any:
    """The class `AutoAttack` of whichever package is installed."""
    for package in PACKAGES:
        try:
            return import_module(package).AutoAttack
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
    raise MissingExtra("AutoAttack", "autoattack")


def under_autoattack(target: Subject, eps: float, *, version: str = "standard", seed: int = 1) -> Tensor:
    """Which images one network gets right under AutoAttack in L-infinity, (N, 1).

    The ensemble: APGD on the cross-entropy, targeted APGD on the DLR loss, targeted FAB, and the black-box Square
    attack. Its examples are judged here, by the same code as all others.
    """
    device = target.images.device
    with frozen(target.model):
        attack = require_autoattack()(
            target.model, norm="Linf", eps=eps, version=version, seed=seed, verbose=False, device=str(device)
        )
        chunks = list(target.chunks())
        examples = [attack.run_standard_evaluation(*target.at(chunk)[:2], bs=target.batch).detach() for chunk in chunks]
    at = iter(examples)
    return under(target, 1, lambda images, labels, index: [next(at).to(torch.float32)])[0]
