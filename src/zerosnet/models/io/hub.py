"""Networks in the layout of the Hugging Face hub: a folder with config.json, model.safetensors and README.md.

`push_to_hub` puts such a folder on the hub, `from_pretrained` takes it from there by its id.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zerosnet.errors import InputError
from zerosnet.files import write_bytes
from zerosnet.models.io.card import model_card
from zerosnet.models.io.timm import timm_config
from zerosnet.models.io.weights import load_model, save_model
from zerosnet.models.network import Network

CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
LIBRARY = "zerosnet"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_YES = {"1", "ON", "YES", "TRUE"}  # as huggingface_hub reads its settings
# what huggingface_hub raises -> what it means
_FAULTS = {
    "RepositoryNotFoundError": "there is no such model there, or it is not public",
    "GatedRepoError": "its owner wants to be asked first",
    "RevisionNotFoundError": "it has no such revision",
    "LocalEntryNotFoundError": "the hub cannot be reached, and the model is not in the cache",
    "OfflineModeIsEnabled": "HF_HUB_OFFLINE is set, and the model is not in the cache",
}


def save_pretrained(model: Network, folder: str | Path, facts: Mapping[str, Any] | None = None) -> Path:
    """Write a network and its card into a folder, which is made if there is none.

    facts  what is known about its training, for the card and the weights file; see `model_card`.
           `zerosnet.report.run_facts(record)` has them for a run
    """
    if not isinstance(model, Network):
        raise InputError(f"model is {type(model).__name__}; expected a network of this package")
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"folder is {folder}, which is a file; expected a folder")
    known = dict(facts or {})
    save_model(model, folder / WEIGHTS, known)
    write_bytes(folder / CARD, model_card(model, known).encode())
    write_bytes(folder / CONFIG, (json.dumps(_config(model, known), indent=2) + "\n").encode())
    return folder


def from_pretrained(name: str | Path, *, revision: str | None = None) -> Network:
    """The network in a folder that `save_pretrained` wrote, or of a hub id such as "owner/name", in training mode.

    revision  a branch, tag or commit on the hub
    """
    folder = Path(name)
    if not folder.is_dir():
        folder = _download(str(name), revision)
    elif revision is not None:
        raise InputError(f"revision is {revision!r}, but {name} is a folder; expected a hub id with it")
    network = load_model(_existing(folder / WEIGHTS))
    path = _existing(folder / CONFIG)
    try:
        config = json.loads(path.read_text())
        described = config["config"]
    except (ValueError, KeyError, TypeError, RecursionError, OSError) as error:
        raise InputError(f"{path} is no description of a zerosnet network ({type(error).__name__}: {error})") from None
    if described != network.config.to_json():
        raise InputError(f"{path} describes another network than the one in {WEIGHTS}")
    return network


def push_to_hub(
    model: Network,
    name: str,
    facts: Mapping[str, Any] | None = None,
    *,
    folder: str | Path | None = None,
    private: bool = False,
) -> str:
    """Write a network and its card into a folder and upload it to the Hugging Face hub.

    With HF_HUB_OFFLINE set nothing is sent: the folder is written, and can be uploaded later as it is.

    Args:
        model: The network.
        name: Its id on the hub, "owner/name".
        facts: What is known about its training, as for `save_pretrained`.
        folder: Where the files are written; the last part of `name` by default.
        private: Whether a new repository is private.

    Returns:
        The address that the hub gave, or the folder if nothing was sent.
    """
    if not _HUB_ID.fullmatch(name):
        raise InputError(f"name is {name!r}; expected an id on the Hugging Face hub, OWNER/NAME")
    written = save_pretrained(model, folder or Path(name).name, facts)
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in _YES:
        return str(written)
    hub = _client()
    try:
        hub.create_repo(name, private=private, exist_ok=True)
        return str(hub.upload_folder(repo_id=name, folder_path=str(written), allow_patterns=[CONFIG, WEIGHTS, CARD]))
    except Exception as error:  # of the hub's client, or of the HTTP client below it
        raise InputError(f"{name} could not be uploaded: {_reason(error)}; it is written to {written}") from None


def _config(model: Network, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Make config.json: facts for readers of the folder; `config` alone is read back."""
    described = timm_config(model.config)
    return {
        "library_name": LIBRARY,
        "architecture": model.config.name,
        "num_classes": model.num_classes,
        "num_features": model.num_features,
        "input": facts.get("input") or {key: list(described[key]) for key in ("input_size", "mean", "std")},
        "config": model.config.to_json(),
    }


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path} is missing; expected a folder with {CONFIG} and {WEIGHTS}")
    return path


def _download(name: str, revision: str | None) -> Path:
    if not _HUB_ID.fullmatch(name):
        raise InputError(f"{name} is no folder, and no id on the Hugging Face hub, which would be OWNER/NAME")
    hub = _client()
    try:
        return Path(hub.snapshot_download(name, revision=revision, allow_patterns=[CONFIG, WEIGHTS]))
    except Exception as error:  # of the hub's client, or of the HTTP client below it
        raise InputError(f"{name} is no folder here, nor could it be had from the hub: {_reason(error)}") from None


def _client() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise InputError("huggingface_hub is not installed; it comes with: pip install huggingface_hub") from None
    return huggingface_hub


def _reason(error: Exception) -> str:
    kinds = [kind.__name__ for kind in type(error).__mro__]
    return next((_FAULTS[kind] for kind in kinds if kind in _FAULTS), " ".join(str(error).split())[:200])
