"""Parameter counts of the networks: ours, the authors', and those that the paper prints.

The printed table mixes things: its ZeroSNet column fits 100 classes, its LM-ResNet column 10 classes with one
projection per stage change, with which 110 layers would be 1.73M and not 1.14M. The authors' ZeroSNets carry 1,088
parameters that their forward never uses (a batch norm after the stem, and the bottlenecks' first projection); ours have
none of those.
"""

from dataclasses import dataclass

from torch import nn

from zerosnet.models.registry import create_model

UNUSED = 1_088

# counted in the networks of the authors' code, at 10 classes (CIFAR size) or 1,000 (ImageNet size)
AUTHORS = {
    "zerosnet20_opt": 278_490,
    "zerosnet32_opt": 472_922,
    "zerosnet44_opt": 667_354,
    "zerosnet56_opt": 861_786,
    "zerosnet110_opt": 1_736_730,
    "zerosnet18_opt": 12_030_888,
    "zerosnet50_opt": 31_050_408,
    "preresnet18": 11_686_824,
}
# in millions, as the paper's table prints them
PRINTED = {
    "lmresnet": {20: 0.27, 32: 0.47, 44: 0.66, 56: 0.86, 110: 1.14},
    "preresnet": {20: 0.28, 32: 0.48, 44: 0.67, 56: 0.87, 110: 1.74},
    "zerosnet": {20: 0.28, 32: 0.48, 44: 0.67, 56: 0.87, 110: 1.74},
}
_NAMES = {"lmresnet": "lmresnet{}", "preresnet": "preresnet{}", "zerosnet": "zerosnet{}_opt"}


@dataclass(frozen=True)
class ParameterRow:
    """One network; None if there is nothing to compare with."""

    name: str
    ours: int
    authors: int | None
    """All that are there, used or not."""
    authors_used: int | None
    printed_millions: float | None


def parameter_count(model: nn.Module) -> int:
    """Count the trained numbers of a network, coefficients included."""
    return sum(parameter.numel() for parameter in model.parameters())


def parameter_table(num_classes: int = 10, *, imagenet: bool = False) -> list[ParameterRow]:
    """Make the paper's table, 20 to 110 layers in three families; `imagenet` adds the ImageNet sizes that were counted.

    The authors' counts stand beside the networks that have as many classes as theirs, 10 (1,000 at ImageNet size).
    """
    rows = []
    for family, printed in PRINTED.items():
        for depth, millions in printed.items():
            name = _NAMES[family].format(depth)
            counted = AUTHORS.get(name) if num_classes == 10 else None
            rows.append(_row(name, num_classes, counted, UNUSED, millions))
    if imagenet:
        rows += [
            _row(name, 1000, AUTHORS[name], 0, None) for name in ("preresnet18", "zerosnet18_opt", "zerosnet50_opt")
        ]
    return rows


def _row(name: str, num_classes: int, counted: int | None, unused: int, millions: float | None) -> ParameterRow:
    ours = parameter_count(create_model(name, num_classes=num_classes, seed=0))
    return ParameterRow(name, ours, counted, None if counted is None else counted - unused, millions)
