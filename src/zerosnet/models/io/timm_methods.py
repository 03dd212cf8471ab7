"""What the scripts of timm and of the Hugging Face hub call on a network besides `forward`."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models.config import Config
from zerosnet.models.io.timm_config import timm_config
from zerosnet.models.stepping.stack import Stack
from zerosnet.models.stepping.sums import History

if TYPE_CHECKING:
    from zerosnet.models.network import Network

_WITH_PREVIOUS = (99_999,)  # timm's sign for the group of the last block


class Customs(nn.Module):
    """The customs of timm and of the hub, for `Network`."""

    config: Config
    stack: Stack
    bn: nn.Module | None

    @property
    def default_cfg(self) -> dict[str, Any]:
        return timm_config(self.config)

    pretrained_cfg = default_cfg

    @property
    def head_hidden_size(self) -> int:
        """The length of what `forward_head(..., pre_logits=True)` gives, for each replica."""
        return cast("Network", self).num_features

    # -- training ------------------------------------------------------------------------------------------------------

    def set_grad_checkpointing(self, enable: bool = True) -> None:
        """Keep the inputs of blocks only, and compute the rest again backwards; batch statistics count once."""
        self.stack.checkpointing = enable

    def no_weight_decay(self) -> set[str]:
        """Coefficients are no weights."""
        return {f"stack.coefficients.{name}" for name, _ in self.stack.coefficients.named_parameters()}

    def group_matcher(self, coarse: bool = False) -> dict[str, Any]:
        """Names of parameters -> groups from the stem to the head: a group a block, or a stage where `coarse`."""
        blocks: list[Any] = [(r"^stack\.blocks\.(\d+)", None)]
        if coarse:
            ends = self._stage_ends()
            parts = ["|".join(map(str, range(*bounds))) for bounds in zip([0, *ends], ends)]
            blocks = [(rf"^stack\.blocks\.(?:{part})\.", (stage,)) for stage, part in enumerate(parts)]
        return {"stem": r"^stem", "blocks": [*blocks, (r"^(?:bn|stack\.coefficients)\.", _WITH_PREVIOUS)]}

    # -- features ------------------------------------------------------------------------------------------------------

    @property
    def feature_info(self) -> list[dict[str, Any]]:
        """What `forward_intermediates` returns: the last state of every stage."""
        ends = [self.config.plans()[end - 1] for end in self._stage_ends()]
        stem = self.config.structure.traits.stem_stride
        return [
            {
                "num_chs": plan.target.channels * self.config.replicas,
                "reduction": plan.target.stride * stem,
                "module": f"stack.blocks.{plan.index}",
            }
            for plan in ends
        ]

    def forward_intermediates(
        self,
        images: Tensor,
        indices: int | Sequence[int] | None = None,
        norm: bool = False,
        stop_early: bool = False,
        output_fmt: str = "NCHW",
        intermediates_only: bool = False,
    ) -> Any:
        """(feature map, intermediates), or these alone: the last states of the stages (all, the last n, or a list).

        norm        the last one as the head sees it, after BN-ReLU
        stop_early  leave out what comes after the last stage that is asked for
        """
        if output_fmt != "NCHW":
            raise InputError(f"output_fmt is {output_fmt!r}; expected 'NCHW'")
        ends = self._stage_ends()
        wanted = _chosen(indices, len(ends))
        network = cast("Network", self)
        history, states = History((network.first_state(images),)), dict[int, Tensor]()
        rows = self.stack.rows(history.states[0])
        for n, (block, row) in enumerate(zip(self.stack.steps, rows), start=1):
            history = self.stack.advance(block, history, row)
            if n in ends:
                states[ends.index(n)] = history.states[0]
            if stop_early and n == ends[max(wanted)]:
                break
        last, final = history.states[0], len(self.config.structure.blocks) - 1
        if final in states:
            last = network.normalise(last)
            states[final] = last if norm else states[final]
        intermediates = [states[index] for index in wanted]
        return intermediates if intermediates_only else (last, intermediates)

    def prune_intermediate_layers(
        self, indices: int | Sequence[int] | None = 1, prune_norm: bool = False, prune_head: bool = True
    ) -> list[int]:
        """Remove what `forward_intermediates` does not need for these indices, and return them from the beginning."""
        ends = self._stage_ends()
        wanted = _chosen(indices, len(ends))
        self.stack.blocks = self.stack.blocks[: ends[max(wanted)]]
        if prune_norm:
            self.bn = None
        if prune_head:
            cast("Network", self).reset_classifier(0)
        return wanted

    def _stage_ends(self) -> list[int]:
        """How many blocks there are up to the end of every stage."""
        return [end for end in accumulate(self.config.structure.blocks) if end <= len(self.stack.blocks)]

    # -- the hub -------------------------------------------------------------------------------------------------------

    def save_pretrained(self, folder: str | Path, facts: Mapping[str, Any] | None = None) -> Path:
        """`zerosnet.models.save_pretrained(self, folder, facts)`."""
        from zerosnet.models.io.hub import save_pretrained

        return save_pretrained(cast("Network", self), folder, facts)

    @staticmethod
    def from_pretrained(name: str | Path, *, revision: str | None = None) -> "Network":
        """`zerosnet.models.from_pretrained(name)`."""
        from zerosnet.models.io.hub import from_pretrained

        return from_pretrained(name, revision=revision)


def _chosen(indices: int | Sequence[int] | None, count: int) -> list[int]:
    """timm's way to choose features: None all, an integer the last n, else these, counted from the end where < 0."""
    given = count if indices is None else indices
    chosen = range(count - given, count) if isinstance(given, int) else [i + count if i < 0 else i for i in given]
    if not chosen or not all(0 <= index < count for index in chosen):
        raise InputError(f"indices is {indices!r}; expected some of the {count} stages, 0 to {count - 1}")
    return list(chosen)
