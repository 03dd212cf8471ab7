"""A trained network that an accuracy law was fitted on."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from zerosnet.numerics.scheme import Scheme
from zerosnet.numerics.wirings.json_fields import (
    NUMBER,
    PERCENT,
    POSITIVE,
    POSITIVE_COUNT,
    TEXT,
    TRUTH,
    check_fields,
    list_of,
)
from zerosnet.numerics.wirings.wiring import Wiring


@dataclass(frozen=True)
class FittedNetwork:
    """A trained network that the law was fitted on, and what the law predicts for it when it is left out.

    Attributes:
        scheme: The scheme of its multistep blocks, the first one if there are several.
        blocks: Blocks of every stage.
        accuracy: Mean over its runs, in percent.
        quantity: D of its wiring.
        root: The typical root of its blocks.
        near: Whether much of it starts near the threshold of survival.
        spread: Changes of log(error) if all blocks near that threshold survive, and if all of them die.
        beta_growth: Factor of the betas from block to block.
        block_schemes: One scheme per block, if they differ by more than that.
    """

    scheme: str
    blocks: tuple[int, ...]
    stage_change: str
    runs: int
    accuracy: float
    left_out: float
    quantity: float
    root: float = 1.0
    near: bool = False
    spread: tuple[float, float] = (0.0, 0.0)
    beta_growth: str = "1"
    block_schemes: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """True for one scheme in all blocks, with the usual stage change."""
        return self.stage_change == "project-each" and self.beta_growth == "1" and not self.block_schemes

    @property
    def label(self) -> str:
        """Its scheme, and in brackets what is unusual."""
        unusual = [
            *([] if self.stage_change == "project-each" else [self.stage_change]),
            *([] if self.beta_growth == "1" else [f"beta growth {float(Scheme([self.beta_growth], [1]).alphas[0]):g}"]),
            *([words_of_schemes(self.block_schemes)] if self.block_schemes else []),
        ]
        return Scheme.parse(self.scheme).short_name + (f" ({', '.join(unusual)})" if unusual else "")

    @cached_property
    def wiring(self) -> Wiring:
        if self.block_schemes:
            return Wiring.per_block(map(Scheme.parse, self.block_schemes), self.blocks, self.stage_change)
        return Wiring.of(Scheme.parse(self.scheme), self.blocks, self.stage_change, self.beta_growth)


def network_json(network: FittedNetwork) -> dict[str, Any]:
    """Write a network; what is usual is left out."""
    values = {field.name: getattr(network, field.name) for field in fields(network)}
    unusual = {field.name for field in fields(network) if values[field.name] != field.default}
    return {key: list(x) if isinstance(x, tuple) else x for key, x in values.items() if key in unusual}


_REQUIRED = {
    "scheme": TEXT,
    "blocks": list_of(POSITIVE_COUNT, least=1),
    "stage_change": TEXT,
    "runs": POSITIVE_COUNT,
    "accuracy": PERCENT,
    "left_out": PERCENT,
    "quantity": POSITIVE,
}
_OPTIONAL = {
    "root": NUMBER,
    "near": TRUTH,
    "spread": list_of(NUMBER, length=2),
    "beta_growth": TEXT,
    "block_schemes": list_of(TEXT),
}


def read_network(data: Any, name: str = "network") -> FittedNetwork:
    """Read what `network_json` writes; `name` is what an error message calls it."""
    check_fields(data, name, _REQUIRED, _OPTIONAL)
    lists: dict[str, Any] = {key: tuple(data[key]) for key in ("blocks", "block_schemes", "spread") if key in data}
    return FittedNetwork(**{**data, **lists})


def name_of_schemes(schemes: Sequence[Scheme]) -> str:
    """Name a network with one scheme per block: the first scheme, and what becomes of it."""
    return f"{schemes[0].short_name}, {words_of_schemes([str(scheme) for scheme in schemes])}"


def words_of_schemes(schemes: Sequence[str]) -> str:
    """Describe one scheme per block: one whose f is switched off from some block on, or any.

    Examples:
        >>> words_of_schemes(["1,1;1", "1,1;1", "1,1;0"])
        'f switched off after 2 multistep blocks'
    """
    written = [text.rpartition(";") for text in schemes]
    used = [betas != "0" for _, _, betas in written]
    last = sum(used)
    alike = len({alphas for alphas, _, _ in written}) == 1 and len(set(schemes[:last])) == 1
    if alike and 0 < last < len(used) and all(used[:last]):
        return f"f switched off after {last} multistep blocks"
    return "a scheme per block"
