"""A network in one file: safetensors, with everything that `load_model` needs in the metadata.

The metadata (safetensors allows strings only) holds `format`, `config` (structure, scheme or law, options) and `facts`
(whatever the caller knows about training) as JSON, and a `checksum` over both and the tensors. No code is ever run.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.files import is_file, write_bytes
from zerosnet.models.config import Config
from zerosnet.models.network import Network
from zerosnet.models.pretrained import weights_file

FORMAT = "zerosnet 1"
_SORTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def save_model(model: Network, path: str | Path, facts: Mapping[str, Any] | None = None, *, half: bool = False) -> Path:
    """Write a network; the file is there complete or not at all, and the same to the byte for the same network.

    Args:
        facts: JSON-ready, read again by `model_facts`.
        half: The weights of convolutions and classifier as float16, which `load_model` turns back into float32; batch
            norms and coefficients stay as they are, since statistics of unstable networks do not fit into float16.
    """
    path = Path(path)
    _check_savable(model, path)
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    if half:
        tensors = {name: _halved(name, tensor) for name, tensor in tensors.items()}
    write_bytes(path, model_file(model.config, tensors, facts))
    return path


def model_file(config: Config, tensors: Mapping[str, Tensor], facts: Mapping[str, Any] | None = None) -> bytes:
    """Make the content of a network's file; the tensors are contiguous, on the CPU, and those of the configuration."""
    try:
        texts = {"config": json.dumps(config.to_json()), "facts": json.dumps(dict(facts or {}))}
    except (TypeError, ValueError) as error:
        raise InputError(f"facts are {facts!r}; expected what JSON can hold ({error})") from None
    return tensor_file(tensors, {"format": FORMAT, **texts, "checksum": _checksum(tensors, texts)})


def load_model(path: str | Path) -> Network:
    """The network that `save_model` wrote, or one that comes with the package by its name (see `list_pretrained`).

    It is in float32 (or wider, if it was wider), in training mode, on the CPU.

    Examples:
        >>> load_model("zerosnet20_opt.cifar10").num_classes
        10
    """
    tensors, texts = _read(weights_file(path))
    try:
        config = Config.from_json(json.loads(texts["config"]))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} describes no network that this version knows: {error}") from None
    check_fit(str(path), config, tensors)
    wide = {name: tensor.float() if tensor.dtype.itemsize < 4 else tensor for name, tensor in tensors.items()}
    network = Network(config, seeds=())  # nothing is drawn: every tensor is in the file
    network.to(max((tensor.dtype for tensor in wide.values()), key=lambda dtype: dtype.itemsize))
    network.load_state_dict(wide)
    return network


def model_facts(path: str | Path) -> dict[str, Any]:
    """The facts that a file, or a network that comes with the package, was written with."""
    try:
        facts = json.loads(_read(weights_file(path))[1]["facts"])
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} holds facts that are no JSON: {error}") from None
    if not isinstance(facts, dict):
        raise InputError(f"{path} holds facts that are {type(facts).__name__}; expected a mapping")
    return facts


def _check_savable(model: Network, path: Path) -> None:
    """Refuse what would not come back as it is."""
    if not isinstance(model, Network):
        raise InputError(f"model is {type(model).__name__}; expected a network of this package")
    if model.global_pool != "avg":
        raise InputError(f"global_pool is {model.global_pool!r}, which a file does not hold; expected 'avg'")
    if path.is_dir():
        raise InputError(f"path is {path}, which is a folder; expected a file")
    check_fit("the network", model.config, model.state_dict())


def check_fit(whose: str, config: Config, tensors: Mapping[str, Tensor]) -> None:
    """Check tensors against a description before memory is taken: it may claim more than its file holds."""
    if sum(config.structure.blocks) > len(tensors):
        raise InputError(f"{whose} claims {sum(config.structure.blocks)} blocks; it has {len(tensors)} tensors")
    try:
        with torch.device("meta"):
            own = Network(config, seeds=()).state_dict()
    except (InputError, RuntimeError, OverflowError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{whose} describes a network that cannot be built: {reason}") from None
    for name in [*own, *tensors]:
        if name not in own or name not in tensors or own[name].shape != tensors[name].shape:
            raise InputError(f"{whose} does not fit its description: see {name}")
        if not tensors[name].is_floating_point():
            raise InputError(f"{name} of {whose} is {tensors[name].dtype}; expected floating-point numbers")


def _halved(name: str, tensor: Tensor) -> Tensor:
    if tensor.dtype is not torch.float32 or tensor.dim() < 2 or "coefficients" in name:
        return tensor
    halved = tensor.half()
    if not torch.isfinite(halved).all():
        raise InputError(f"{name} reaches {tensor.abs().max():.3g}, which float16 cannot hold; save with half=False")
    return halved


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata, checked."""
    from safetensors import SafetensorError, safe_open

    if not is_file(path):
        raise InputError(f"{path} is no file; expected one of weights")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise InputError(f"{path} is no safetensors file, or damaged: {error}") from None
    if metadata.get("format") != FORMAT:
        raise InputError(f"{path} was not written by save_model (format {metadata.get('format')!r}, not {FORMAT!r})")
    texts = {name: metadata.get(name, "") for name in ("config", "facts")}
    if metadata.get("checksum") != _checksum(tensors, texts):
        raise InputError(f"{path} is damaged: its checksum is wrong")
    return tensors, texts


def _checksum(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> str:
    digest = blake2b(digest_size=16)
    for name in sorted(texts):
        digest.update(f"{name}={texts[name]}\n".encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}\n".encode())
        digest.update(tensors[name].flatten().view(torch.uint8).numpy().tobytes())  # numpy knows no bfloat16
    return digest.hexdigest()


def tensor_file(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """Make the bytes of a safetensors file from tensors (contiguous, on the CPU) and metadata.

    The same content gives the same bytes: the library writes the metadata in an order that changes from call to call,
    here every key is sorted. A file is the length of its header (8 bytes, little-endian), the header (JSON, padded
    with spaces to a multiple of 8) and the tensors.
    """
    from safetensors.torch import save

    content = save(dict(tensors), dict(metadata))
    start = 8 + int.from_bytes(content[:8], "little")
    header = _SORTED.encode(json.loads(content[8:start])).encode()
    header += b" " * (-len(header) % 8)
    return b"".join([len(header).to_bytes(8, "little"), header, memoryview(content)[start:]])
