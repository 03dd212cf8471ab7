"""The network that a command is about: of a run, a weights file, a folder or id in the hub's layout, or by name."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zerosnet.errors import InputError

if TYPE_CHECKING:
    from zerosnet.models import Network
    from zerosnet.training import RunRecord

SUBJECT_HELP = "A run (id, part of it, folder), weights (.safetensors), a hub folder or id, or a model's name."


@dataclass(frozen=True)
class Subject:
    """A network and what is known about it."""

    network: "Network"
    label: str
    facts: dict[str, Any]
    size: tuple[int, int]
    """Height and width of its images."""


def find_subject(name: str, scheme: str | None, store: str) -> Subject:
    """The network called `name`: a file or folder of that name, a registered network, an id on the hub, or a run.

    A registered network has random weights; `scheme` is for the bare zerosnetN alone.
    """
    from zerosnet.models import create_model, from_pretrained, list_models, load_model, model_facts
    from zerosnet.training import Store

    path = Path(name)
    if scheme is not None and name not in list_models():
        raise InputError(f"--scheme is {scheme!r}; it goes with a model's name such as zerosnet20, leave it out")
    if path.suffix == ".safetensors" or path.is_file():
        return _without_run(load_model(path), path.name, model_facts(path))
    if (path / "config.json").is_file():
        return _without_run(from_pretrained(path), path.name, model_facts(path / "model.safetensors"))
    if (path / "spec.json").is_file():
        return _of_run(Store(path.parent).find(path.resolve().name))
    if name in list_models():
        return _without_run(create_model(name, scheme=scheme, seed=0), f"{name} with random weights", {})
    if "/" in name:
        return _without_run(from_pretrained(name), name, {})
    return _of_run(Store(store).find(name))


def _without_run(network: "Network", label: str, facts: dict[str, Any]) -> Subject:
    """A file from a run may know its data set, and hence its images."""
    from zerosnet.data import image_size

    side = image_size(facts["dataset"]) if "dataset" in facts else network.config.structure.traits.image
    return Subject(network, label, facts, side)


def _of_run(record: "RunRecord") -> Subject:
    from zerosnet.data import image_size
    from zerosnet.report import run_facts
    from zerosnet.training.networks import load_network

    return Subject(load_network(record), record.id, run_facts(record), image_size(record.spec.dataset))
