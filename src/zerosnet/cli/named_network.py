"""Find the network that a command is about: a run's, a file's, one of the hub, or one by name."""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zerosnet.cli.output import scheme_option
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from zerosnet.models import Network
    from zerosnet.training import RunRecord, Store

SUBJECT_HELP = "A run (id, part of it, folder), weights (.safetensors), a hub folder or id, or a network's name."


@dataclass(frozen=True)
class NamedNetwork:
    """A network and what is known about it."""

    network: "Network"
    label: str
    facts: dict[str, Any]
    size: tuple[int, int]
    """Height and width of its images."""
    is_run: bool = False
    is_trained: bool = True


def find_subject(name: str, scheme: str | None, store: str, *, others: bool = False, **options: Any) -> NamedNetwork:
    """Find the network called `name`: a file or folder, a registered or trained network, one on the hub, or a run.

    A registered network is untrained; `scheme` and options of `create_model` are for these alone. `others`: whether the
    command also takes networks of other packages, which the error for an unknown name then lists.
    """
    from zerosnet.models import create_model, from_pretrained, list_models, list_pretrained, load_model, model_facts
    from zerosnet.training import WEIGHTS, Store

    if not name:
        raise InputError(f"the network's name is empty; expected {SUBJECT_HELP[0].lower()}{SUBJECT_HELP[1:-1]}")
    path, weights = Path(name), Path(name) / WEIGHTS
    if scheme is not None and name not in list_models():
        raise InputError(f"--scheme is {scheme!r}; it goes with a model's name such as zerosnet20, leave it out")
    if (path / "spec.json").is_file():
        return _of_run(find_run(name, store))
    if weights.is_file() or path.suffix == ".safetensors" or path.is_file():
        path = weights if weights.is_file() else path
        return _without_run(load_model(path), path.name, model_facts(path))
    if (path / "config.json").is_file():
        return _without_run(from_pretrained(path), path.name, model_facts(path / "model.safetensors"))
    if name in list_models():
        network = create_model(name, scheme=scheme_option(scheme), **{"seed": 0, **options})
        return replace(_without_run(network, f"untrained {name}", {}), is_trained=False)
    if name in list_pretrained():
        return _without_run(load_model(name), name, model_facts(name))
    if "/" in name:
        return _without_run(from_pretrained(name), name, {})
    return _of_run(_run(name, Store(store), others))


def runs_of(model: str, scheme: str | None, store: str) -> "list[RunRecord]":
    """List the finished runs of a model in a store, those with another scheme than this one left out."""
    from zerosnet.training import Store

    records, _ = Store(store).scan()
    known = scheme_option(scheme)
    return [
        one
        for one in records
        if (one.status, one.spec.model, one.spec.scheme) == ("finished", model, known) and one.has_weights
    ]


def find_run(name: str, store: str) -> "RunRecord":
    """Find a run by its folder, or in a store by its id or a part of it."""
    from zerosnet.training import Store

    if not name:
        raise InputError("the run's name is empty; expected its id, a part of it that only one run has, or its folder")
    if not (Path(name) / "spec.json").is_file():
        return Store(store).find(name)
    folder = Path(name).resolve()
    return Store(folder.parent).find(folder.name)


def _run(name: str, store: "Store", others: bool) -> "RunRecord":
    """Find the run of that name; the error for none lists what a network can be called."""
    from zerosnet.cli.other_network import OTHER_HELP, elsewhere, with_colon
    from zerosnet.models import list_models, list_pretrained, nearest_depth, our_name

    if not any(name in spec.parent.name for spec in store.root.glob("*/spec.json")):
        nearest = nearest_depth(name)
        alike = (
            [nearest]
            if nearest is not None
            else get_close_matches(our_name(name), [*list_pretrained(), *list_models()], n=2) or list_pretrained()
        )
        there = [*elsewhere(name), *with_colon(name)] if others else []
        meant = f" (did you mean {' or '.join(there)}?)" if there else ""
        raise InputError(
            f"there is no network called {name!r}{meant}; expected a run in store {store.root}, a file, or a name such "
            f"as {' or '.join(alike)}" + (f"; or {OTHER_HELP}" if others else "")
        )
    return store.find(name)


def _without_run(network: "Network", label: str, facts: dict[str, Any]) -> NamedNetwork:
    """Describe a network without a run; its file may name its data set, and hence the size of its images."""
    from zerosnet.data import image_size

    side = image_size(facts["dataset"]) if "dataset" in facts else network.config.structure.traits.image
    return NamedNetwork(network, label, facts, side)


def _of_run(record: "RunRecord") -> NamedNetwork:
    from zerosnet.data import image_size
    from zerosnet.report import run_facts
    from zerosnet.training import load_network

    return NamedNetwork(
        load_network(record), record.id, run_facts(record), image_size(record.spec.dataset), is_run=True
    )
