"""An adapter to AutoAttack (Croce and Hein, 2020): the official implementation, or its packaged fork."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.robustness.classifiers import FewSizes, frozen
from zerosnet.robustness.protocols.attacked import Subject, under


@dataclass(frozen=True)
class Package:
    """A package with a class `AutoAttack`, and the two words in which they differ."""

    name: str
    batch: str
    settings: dict[str, Any] = field(default_factory=dict)


PACKAGES = (Package("autoattack", "bs", {"verbose": False}), Package("pyautoattack", "batch_size"))
MOST = 2_500  # images at a time
FEWEST_CLASSES = 10  # the targeted attacks of the standard version go for nine other classes
Ensemble = Callable[[Tensor, Tensor, int], Tensor]


def require_autoattack() -> tuple[Package, Any]:
    """Find the package that is installed, and its class `AutoAttack`."""
    for package in PACKAGES:
        try:
            return package, import_module(package.name).AutoAttack
        except ModuleNotFoundError as error:
            if error.name not in (package.name, None):
                raise
    raise InputError("AutoAttack is not installed; its packaged fork comes with: pip install pyautoattack")


def ensemble(model: nn.Module, eps: float, device: str, *, version: str = "standard", seed: int = 1) -> Ensemble:
    """Make the standard ensemble in L-infinity, a function of images, labels and batch size that returns examples.

    APGD on the cross-entropy, targeted APGD on the DLR loss, targeted FAB, and the black-box Square attack.
    """
    package, autoattack = require_autoattack()
    attack = autoattack(model, norm="Linf", eps=eps, version=version, seed=seed, device=device, **package.settings)

    def examples(images: Tensor, labels: Tensor, batch: int) -> Tensor:
        found = attack.run_standard_evaluation(images, labels, **{package.batch: batch})
        adversarial: Tensor = found[0] if isinstance(found, tuple) else found  # the fork adds its accuracies
        return adversarial.detach().to(images)

    return examples


def under_autoattack(target: Subject, eps: float) -> Tensor:
    """Find which images one network gets right under AutoAttack, (N, 1); judged by the same code as all attacks."""
    batch = min(target.batch, MOST)
    model = FewSizes(target.model, batch) if target.images.is_cuda else target.model
    attack = ensemble(model, eps, str(target.images.device))
    with frozen(target.model):
        examples = [attack(images, labels, batch) for images, labels, _ in map(target.at, target.chunks())]
    made = iter(examples)
    return under(target, 1, lambda images, labels, index: [next(made)])[0]


def require_classes(target: Subject) -> None:
    if target.num_classes < FEWEST_CLASSES:
        raise InputError(f"AutoAttack needs {FEWEST_CLASSES} classes or more; the network has {target.num_classes}")
