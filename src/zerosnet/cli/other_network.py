"""Find other people's networks for a command: PACKAGE:NAME, or the Python path of a function that builds one."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from zerosnet.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from torch import Tensor, nn

OTHER_HELP = "timm:NAME, torchvision:NAME, transformers:TYPE, or package.module:function"
_TOKENS = 32


@dataclass(frozen=True)
class OtherNetwork:
    """A network of another package, and an example that it takes, if it came with one."""

    model: "nn.Module"
    label: str
    example: Any = None

    def batch(self, count: int, seed: int) -> Any:
        """Make noise that the network takes: images, vectors, or random tokens."""
        import torch

        if self.example is not None:
            return self.example
        generator = torch.Generator().manual_seed(seed)
        config: Any = getattr(self.model, "config", None)
        words = getattr(config, "vocab_size", None) or getattr(getattr(config, "text_config", None), "vocab_size", None)
        if words is not None and getattr(self.model, "main_input_name", None) != "pixel_values":
            return torch.randint(words, (count, _TOKENS), generator=generator)
        like = example_of(self.model)
        return torch.randn(count, *like.shape[1:], generator=generator).to(like)


def is_other(name: str) -> bool:
    """Check if a name is meant for another package: it has a colon with names on both sides."""
    package, colon, rest = name.partition(":")
    return bool(colon) and package.replace(".", "_").isidentifier() and bool(rest) and "/" not in rest


def find_other(name: str, seed: int) -> OtherNetwork:
    """Build the network that PACKAGE:NAME names, with random weights."""
    import torch

    package, _, rest = name.partition(":")
    torch.manual_seed(seed)
    if package in _PACKAGES:
        found = _PACKAGES[package](rest)
        network, note = found if isinstance(found, tuple) else (found, "")
        return OtherNetwork(network, f"{name}, {note}" if note else name)
    build = _named(name, package, rest)
    if isinstance(build, torch.nn.Module):
        return OtherNetwork(build, name)
    try:
        signature(build).bind()
    except ValueError:  # of a compiled function, whose arguments are not known
        pass
    except TypeError as error:
        raise InputError(f"{name} cannot be called without arguments ({error}); expected a function that can") from None
    made = build()
    model, example = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"{name} returns {type(model).__name__}; expected a torch.nn.Module, or one and an example")
    return OtherNetwork(model, name, example)


def elsewhere(name: str) -> list[str]:
    """List timm:NAME and torchvision:NAME if these packages have a network of that name."""
    return [f"{package}:{name}" for package, names in _NAMES.items() if name in names()]


def with_colon(name: str) -> list[str]:
    """List package.module:function for the Python path of an existing module with a dot in place of the colon."""
    from importlib.util import find_spec
    from pathlib import Path

    module, _, function = name.rpartition(".")
    parts = name.split(".")
    if not module or not all(part.isidentifier() for part in parts):
        return []
    here = Path(parts[0]).is_dir() or Path(f"{parts[0]}.py").is_file()
    return [f"{module}:{function}"] if here or find_spec(parts[0]) is not None else []


def example_of(model: "nn.Module") -> "Tensor":
    from zerosnet.models import example_for

    return example_for(model)


def _named(name: str, module: str, attribute: str) -> Any:
    """Import what a name stands for: a function that builds a network, or a network."""
    import sys
    from pathlib import Path

    if module.endswith(".py"):
        raise InputError(f"{name!r} names a file; leave out .py: {module.removesuffix('.py')}:{attribute}")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{name!r} cannot be found ({error}); expected {OTHER_HELP}") from None
    finally:
        sys.path.remove(here)
    if not callable(found):
        raise InputError(
            f"{name!r} is {type(found).__name__}; expected a function that returns a network, or a network"
        )
    return found


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"the package {name} is not installed; expected it for {name}:NAME") from None


def _timm(name: str) -> "nn.Module":
    timm = _package("timm")
    if not timm.is_model(name.partition(".")[0]):
        near = did_you_mean(name, timm.list_models())
        raise InputError(f"timm has no network {name!r}{near}; expected a name of timm.list_models()")
    model: nn.Module = timm.create_model(name)
    return model


def _torchvision(name: str) -> "nn.Module":
    models = _package("torchvision").models
    if name not in models.list_models():
        near = did_you_mean(name, models.list_models())
        raise InputError(
            f"torchvision has no network {name!r}{near}; expected a name of torchvision.models.list_models()"
        )
    taken = signature(models.get_model_builder(name)).parameters
    unloaded = {option: None for option in ("weights", "weights_backbone") if option in taken}
    model: nn.Module = models.get_model(name, **unloaded)
    return model


def _transformers(name: str) -> "tuple[nn.Module, str]":
    """Build a network of that model type at its default size, or small if that does not fit."""
    from zerosnet.cli.small_config import transformers_network

    transformers = _package("transformers")
    if name not in transformers.CONFIG_MAPPING:
        near = did_you_mean(name, list(transformers.CONFIG_MAPPING))
        raise InputError(f"transformers has no model type {name!r}{near}; expected one such as gpt2 or vit")
    return transformers_network(name, transformers.CONFIG_MAPPING[name]())


_PACKAGES: dict[str, Callable[[str], "nn.Module | tuple[nn.Module, str]"]] = {
    "timm": _timm,
    "torchvision": _torchvision,
    "transformers": _transformers,
}
_NAMES: dict[str, Callable[[], list[str]]] = {
    "timm": lambda: _package("timm").list_models(),
    "torchvision": lambda: _package("torchvision").models.list_models(),
}
