"""A network's description in timm's words, from which timm's data pipeline takes size, mean and deviation."""

from typing import Any

from zerosnet.models.config import Config


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
