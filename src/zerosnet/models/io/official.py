"""Networks for checkpoints of the authors' published code.

Structure, depth, classes and input channels are read off the names and shapes. Every tensor of ours has one name of
theirs, and what their forward never uses is left out by name; anything else in the file is an error, so that a
checkpoint is either reproduced or refused.
"""

import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.models.config import Config
from zerosnet.models.network import Network
from zerosnet.models.stepping.laws import LambdaLaw
from zerosnet.models.structure import SIZES, Structure
from zerosnet.numerics import EULER, OPTIMUM, Scheme

_WRAPPERS = ("state_dict", "model_state_dict", "net", "model")
_PREFIX = "module."


@dataclass(frozen=True)
class _Layout:
    """The names of tensors in one kind of the authors' networks."""

    size: str
    block: str
    """Pattern of a block's name; its last group is the number that counts blocks."""
    names: Mapping[str, str]
    """Our prefixes outside the blocks -> theirs."""
    projections: Mapping[str, str]
    """Our projections inside a block -> theirs."""
    unused: Mapping[str, str]
    """Kind of block -> pattern of what their forward never uses."""
    scheme: Scheme
    """The default if neither the file nor the caller gives one."""


_COUNTERS = r".*\.num_batches_tracked"
_CIFAR = _Layout(
    size="cifar",
    block=r"blocks\.(\d+)",
    names={
        "stem.conv": "conv1",
        "stack.blocks.0.opening.bn": "downsample1.downsample.0",
        "stack.blocks.0.opening.conv": "downsample1.downsample.2",
        "bn": "bn",
        "fc": "fc",
    },
    projections={
        "y0": "downsample_x.downsample_.0",
        "y1": "downsample_l.downsample_.0",
        "y2": "downsample_ll.downsample_.0",
    },
    unused={
        "basic": rf"{_COUNTERS}|bn1\..*|blocks\.[01]\.coe|downsample1\..*",
        # block 1 may carry a projection of the stem, which only block 2 sums (through one of its own)
        "bottleneck": rf"{_COUNTERS}|bn1\..*|blocks\.[01]\.coe|blocks\.1\.downsample_l\..*",
    },
    scheme=OPTIMUM,
)
_IMAGENET = _Layout(
    size="imagenet",
    block=r"layer([1-4])\.(\d+)",
    names={"stem.conv": "conv1", "stem.bn": "bn1", "fc": "fc"},
    projections={"y0": "shortcut_x.0", "y1": "shortcut_l.0", "y2": "shortcut_ll.0"},
    unused=dict.fromkeys(("basic", "bottleneck"), rf"{_COUNTERS}|layer1\.[01]\.coe"),
    scheme=OPTIMUM,
)
_PREACT = _Layout(
    size="imagenet",
    block=_IMAGENET.block,
    names=_IMAGENET.names,
    projections={"y0": "shortcut.0"},
    unused=dict.fromkeys(("basic", "bottleneck"), _COUNTERS),
    scheme=EULER,
)
# a tensor that only this kind of network has -> its layout
_SIGNS = {
    "blocks.0.conv1.weight": _CIFAR,
    "layer2.0.shortcut_x.0.weight": _IMAGENET,
    "layer2.0.shortcut.0.weight": _PREACT,
}


def load_official(checkpoint: Mapping[str, Any] | str | Path, scheme: Scheme | str | None = None) -> Network:
    """The network of an authors' checkpoint: a state dict or a file with one (.safetensors, or a pickle, no code run).

    Coefficients: the trained lambdas of the file (`coe`), else `scheme`, else what the paper recommends for its
    ZeroSNets and y + f(y) for its PreAct nets: the authors' files do not name the scheme that they were trained with.
    """
    tensors = _state_dict(checkpoint)
    layout = next((layout for sign, layout in _SIGNS.items() if sign in tensors), None)
    if layout is None:
        raise InputError(f"the checkpoint is none of the authors': it has none of {', '.join(_SIGNS)}")
    given = Scheme.parse(scheme) if isinstance(scheme, str) else scheme
    if not isinstance(given, Scheme | None):
        raise InputError(f"scheme is {scheme!r}; expected a Scheme or its text")
    config, blocks = _config(tensors, layout, given)
    network = Network(config, seeds=[0])
    wanted = {ours: _their_name(ours, layout, blocks) for ours in network.state_dict() if "coefficients" not in ours}
    state = {ours: _get(tensors, theirs) for ours, theirs in wanted.items()}
    used = set(wanted.values())
    if config.law is not None:
        lambdas = [f"{blocks[plan.index]}.coe" for plan in config.plans() if plan.multistep]
        state["stack.coefficients.values"] = torch.stack([_number(tensors, name) for name in lambdas])
        used |= set(lambdas)
    _check(tensors, used, layout.unused[config.structure.block])
    return _filled(network, state, wanted)


# -- structure ---------------------------------------------------------------------------------------------------------


def _config(tensors: Mapping[str, Tensor], layout: _Layout, scheme: Scheme | None) -> tuple[Config, list[str]]:
    """Find the network's config, and the authors' names of its blocks in order."""
    blocks = _block_names(tensors, layout)
    widths = [_shape(tensors, f"{block}.conv1.weight", 4)[0] for block in blocks]
    kind = "bottleneck" if f"{blocks[0]}.conv3.weight" in tensors else "basic"
    counts = tuple(widths.count(width) for width in SIZES[layout.size].widths)
    if sum(counts) != len(blocks) or widths != sorted(widths) or not all(counts):
        raise InputError(
            f"blocks have {widths} channels; expected some of each of {SIZES[layout.size].widths}, in order"
        )
    trained = any(name.endswith(".coe") and not re.fullmatch(layout.unused[kind], name) for name in tensors)
    if scheme is not None and trained:
        raise InputError(f"scheme is {scheme}, but the checkpoint has trained lambdas of its own; leave scheme out")
    found = scheme or layout.scheme
    if (len(found.alphas), len(found.betas)) != (len(layout.projections), 1):
        raise InputError(
            f"scheme is {found}; expected {len(layout.projections)} alphas and one beta for this checkpoint"
        )
    config = Config(
        Structure(layout.size, kind, counts),
        law=LambdaLaw() if trained else None,
        schemes=() if trained else (found,),
        num_classes=_shape(tensors, "fc.weight", 2)[0],
        in_chans=_shape(tensors, "conv1.weight", 4)[1],
    )
    return config, blocks


def _block_names(tensors: Mapping[str, Tensor], layout: _Layout) -> list[str]:
    """The blocks in order; a gap in their numbers is a missing tensor."""
    matches = filter(None, (re.match(layout.block, name) for name in tensors))
    found = sorted({tuple(map(int, match.groups())): match[0] for match in matches}.items())
    expected = 0
    for n, ((*stage, position), _) in enumerate(found):
        expected = 0 if n and found[n - 1][0][:-1] != tuple(stage) else expected
        if position != expected:
            place = f"layer{stage[0]}" if stage else "blocks"
            raise InputError(f"the checkpoint lacks {place}.{expected}.conv1.weight")
        expected += 1
    return [name for _, name in found]


def _their_name(ours: str, layout: _Layout, blocks: list[str]) -> str:
    for prefix, theirs in layout.names.items():
        if ours.startswith(f"{prefix}."):
            return theirs + ours.removeprefix(prefix)
    match = re.fullmatch(r"stack\.blocks\.(\d+)\.(?:f|projections\.(\w+))\.(.*)", ours)
    assert match, ours
    number, projection, rest = match.groups()
    return ".".join(filter(None, (blocks[int(number)], layout.projections.get(projection), rest)))


# -- tensors -----------------------------------------------------------------------------------------------------------


def _get(tensors: Mapping[str, Tensor], name: str) -> Tensor:
    if name not in tensors:
        raise InputError(f"the checkpoint lacks {name}")
    return tensors[name]


def _shape(tensors: Mapping[str, Tensor], name: str, dims: int) -> torch.Size:
    shape = _get(tensors, name).shape
    if len(shape) != dims:
        raise InputError(f"{name} has shape {tuple(shape)}; expected {dims} dimensions")
    return shape


def _number(tensors: Mapping[str, Tensor], name: str) -> Tensor:
    """A trained lambda, as a vector of one number."""
    number = _get(tensors, name)
    if number.numel() != 1:
        raise InputError(f"{name} has shape {tuple(number.shape)}; expected one number")
    return number.reshape(1)


def _check(tensors: Mapping[str, Tensor], used: set[str], unused: str) -> None:
    left = sorted(name for name in tensors if name not in used and not re.fullmatch(unused, name))
    if left:
        raise InputError(f"the checkpoint has {', '.join(left[:5])}{', ...' * (len(left) > 5)}, which no network has")


def _filled(network: Network, state: dict[str, Tensor], names: Mapping[str, str]) -> Network:
    own = network.state_dict()
    for name, tensor in state.items():
        if tensor.shape != own[name].shape:
            found, expected = tuple(tensor.shape), tuple(own[name].shape)
            raise InputError(f"{names.get(name, name)} has shape {found}; expected {expected}")
        if not tensor.is_floating_point():
            raise InputError(f"{names.get(name, name)} is {tensor.dtype}; expected floating-point numbers")
    network.load_state_dict(state)
    return network


def _state_dict(checkpoint: Mapping[str, Any] | str | Path) -> dict[str, Tensor]:
    """Name -> tensor, out of files, wrappers and the prefix of data parallelism."""
    content = _read(Path(checkpoint)) if isinstance(checkpoint, str | Path) else checkpoint
    wrapper = next((name for name in _WRAPPERS if isinstance(content, Mapping) and name in content), None)
    content = content if wrapper is None else content[wrapper]
    if not isinstance(content, Mapping) or not content:
        raise InputError(f"the checkpoint is {type(content).__name__}; expected a state dict, bare or as {_WRAPPERS}")
    for name, tensor in content.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise InputError(f"{name!r} in the checkpoint is {type(tensor).__name__}; expected names and tensors")
    bare = {name.removeprefix(_PREFIX): tensor for name, tensor in content.items()}
    if len(bare) != len(content):
        twice = next(name for name in bare if name in content and _PREFIX + name in content)
        raise InputError(f"the checkpoint has both {twice} and {_PREFIX}{twice}; expected one of them")
    return bare


def _read(path: Path) -> Any:
    if not path.is_file():
        raise InputError(f"{path} is no file; expected one of weights")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise InputError(
            f"{path} is no checkpoint, or holds more than tensors; code in files is never run: save a state dict"
        ) from None
    except Exception as error:
        raise InputError(
            f"{path} cannot be read as a checkpoint: {(str(error) or type(error).__name__).splitlines()[0]}"
        ) from None
