"""The runs that `zerosnet attack` is given, and their measurement by the protocol that each of them needs."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from zerosnet.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from zerosnet.robustness import ProtocolResult
    from zerosnet.training import RunRecord, Store


def find_attacked(names: Sequence[str], store: "Store", stack: ExitStack) -> "list[RunRecord]":
    """Find the runs in a store, and networks that come with the package as runs that last as long as `stack`."""
    from zerosnet.models import list_pretrained
    from zerosnet.training import trained_run

    trained = list_pretrained()
    return [stack.enter_context(trained_run(name)) if name in trained else _stored(name, store) for name in names]


def measure(
    store: "Store", records: "Sequence[RunRecord]", protocol: str, *, sigma: float | None, **options: Any
) -> "dict[str, ProtocolResult]":
    """Run a protocol on runs; results by run id, in the order given. `options` are those of `attack_runs`."""
    from zerosnet.training import attack_runs, load_network

    groups: dict[str, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(_own_protocol(record, protocol, sigma), []).append(record)
    for record in records if len(groups) > 1 else ():
        load_network(record)  # what is wrong with one of them is found before any is attacked
    found = {}
    for name, group in groups.items():
        found.update(attack_runs(store, group, name, **options))
    return {record.id: found[record.id] for record in records}


def _stored(name: str, store: "Store") -> "RunRecord":
    """Find a run of the store; the error for none names the networks that come with the package."""
    from zerosnet.models import list_pretrained

    if not any(name in spec.parent.name for spec in store.root.glob("*/spec.json")):
        trained = list_pretrained()
        raise InputError(
            f"run is {name!r}{did_you_mean(name, trained)}; expected the id, or a part of it, of a run in store "
            f"{store.root}, or a trained network: {', '.join(trained)}"
        )
    return store.find(name)


def _own_protocol(record: "RunRecord", protocol: str, sigma: float | None) -> str:
    """Name the protocol for a run: `smoothing` is by the noise that is given, or else by that of the run's training."""
    from zerosnet.robustness import SMOOTHING, smoothing_name

    noise = sigma or record.spec.recipe.noise
    return smoothing_name(noise) if protocol == SMOOTHING and noise else protocol
