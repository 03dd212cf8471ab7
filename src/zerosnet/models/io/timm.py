"""Networks in timm: their description, their registration, and the methods that timm's scripts call.

from zerosnet.models import register_with_timm

register_with_timm()
timm.create_model("zerosnet56_opt")
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor, nn

from zerosnet.errors import InputError
from zerosnet.models.config import Config
from zerosnet.models.pretrained import list_pretrained, weights_file
from zerosnet.models.stepping.history import History
from zerosnet.models.stepping.stack import Stack
from zerosnet.numerics import Scheme

if TYPE_CHECKING:
    from zerosnet.models.network import Network

NO_DROPOUT = {"drop_rate", "drop_path_rate", "drop_block_rate"}  # which timm's scripts hand to every network

default_cfgs: dict[str, dict[str, Any]] = {}
"""timm looks here when it registers a network."""

_WITH_PREVIOUS = (99_999,)  # timm's sign for the group of the last block


def timm_config(config: Config) -> dict[str, Any]:
    """timm's `default_cfg`; images of other than 3 channels get mean and deviation 1/2."""
    size = config.structure.traits
    grey = (0.5,) * config.in_chans
    return {
        "architecture": config.name,
        "num_classes": config.num_classes,
        "input_size": (config.in_chans, *size.image),
        "pool_size": None,
        "crop_pct": size.crop,
        "interpolation": "bilinear",
        "fixed_input_size": False,
        "mean": size.mean if config.in_chans == 3 else grey,
        "std": size.std if config.in_chans == 3 else grey,
        "first_conv": "stem.conv",
        "classifier": "fc",
    }


class TimmMethods(nn.Module):
    """The methods of `Network` that scripts of timm and of the Hugging Face hub call."""

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
        """Names of parameters -> groups from the stem to the head: one per block, or per stage if `coarse`."""
        blocks: list[Any] = [(r"^stack\.blocks\.(\d+)", None)]
        if coarse:
            ends = self._stage_ends()
            parts = ["|".join(map(str, range(*bounds))) for bounds in zip([0, *ends], ends)]
            blocks = [(rf"^stack\.blocks\.(?:{part})\.", (stage,)) for stage, part in enumerate(parts)]
        return {"stem": r"^stem", "blocks": [*blocks, (r"^(?:bn|stack\.coefficients)\.", _WITH_PREVIOUS)]}

    # -- features ------------------------------------------------------------------------------------------------------

    @property
    def feature_info(self) -> list[dict[str, Any]]:
        """Describe what `forward_intermediates` returns: the last state of every stage."""
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
            history = self.stack.advancing(block)(history, row)
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
        """Count the blocks up to the end of every stage."""
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
    """timm's way to choose features: None all, an integer the last n, else these, counted from the end if < 0."""
    given = count if indices is None else indices
    chosen = range(count - given, count) if isinstance(given, int) else [i + count if i < 0 else i for i in given]
    if not chosen or not all(0 <= index < count for index in chosen):
        raise InputError(f"indices is {indices!r}; expected some of the {count} stages, 0 to {count - 1}")
    return list(chosen)


# -- registration ------------------------------------------------------------------------------------------------------


def register_with_timm() -> None:
    """Register every network with timm, under its own name; calling it twice does no harm."""
    from timm.models import generate_default_cfgs, register_model

    from zerosnet.models.registry import REGISTRY

    for name, entry in REGISTRY.items():
        classes = entry.structure.traits.num_classes
        own = timm_config(Config(entry.structure, schemes=(Scheme([1], [1]),), num_classes=classes, name=name))
        trained: dict[str, Any] = {one: {**own, "file": str(weights_file(one))} for one in list_pretrained(f"{name}.*")}
        default_cfgs.update(generate_default_cfgs(trained or {name: own}))
        register_model(_entrypoint(name))


def _entrypoint(name: str) -> Callable[..., nn.Module]:
    from zerosnet.models.registry import create_model

    def create(
        pretrained: bool = False,
        pretrained_cfg: Any = None,
        pretrained_cfg_overlay: Any = None,
        cache_dir: Any = None,
        features_only: bool = False,
        out_indices: Sequence[int] | None = None,
        **options: Any,
    ) -> nn.Module:
        pool = options.pop("global_pool", "avg")
        for option in NO_DROPOUT & options.keys():
            if rate := options.pop(option):
                raise InputError(f"{option} is {rate}; these networks drop nothing, expected 0")
        tag = pretrained_cfg if isinstance(pretrained_cfg, str) else getattr(pretrained_cfg, "tag", None)
        network = create_model(name, pretrained=pretrained and (tag or True), **options)
        if pool != "avg":
            network.reset_classifier(network.num_classes, pool)
        if not features_only:
            return network
        from timm.models._features import FeatureGetterNet

        stages = range(len(network.feature_info))
        return FeatureGetterNet(network, tuple(stages if out_indices is None else out_indices))

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"`zerosnet.models.create_model({name!r}, ...)`."
    return create
