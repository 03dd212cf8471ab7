"""Every registered network under its name in timm:

from zerosnet.models import register_with_timm

register_with_timm()
timm.create_model("zerosnet56_opt")
"""

from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from zerosnet.errors import InputError
from zerosnet.models.config import Config
from zerosnet.models.io.timm_config import timm_config
from zerosnet.models.pretrained import list_pretrained, weights_file
from zerosnet.models.registry import REGISTRY, create_model
from zerosnet.numerics import EULER

NO_DROPOUT = {"drop_rate", "drop_path_rate", "drop_block_rate"}  # which timm's scripts hand to every network

default_cfgs: dict[str, dict[str, Any]] = {}
"""timm looks here when it registers a network."""


def register_with_timm() -> None:
    """Register every network with timm, under its own name; calling it twice does no harm."""
    from timm.models import generate_default_cfgs, register_model

    for name, entry in REGISTRY.items():
        classes = entry.structure.traits.num_classes
        own = timm_config(Config(entry.structure, schemes=(EULER,), num_classes=classes, name=name))
        trained: dict[str, Any] = {one: {**own, "file": str(weights_file(one))} for one in list_pretrained(f"{name}.*")}
        default_cfgs.update(generate_default_cfgs(trained or {name: own}))
        register_model(_entrypoint(name))


def _entrypoint(name: str) -> Callable[..., nn.Module]:
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
