"""Attack finished runs: fuse those that can be, run a protocol on them, and keep the results beside the runs.

STORE/<id>/attacks/<protocol>.json holds what was measured with the protocol as it is; what was measured with fewer
images, restarts or samples has them in its name, and never takes the place of the whole.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from zerosnet import files
from zerosnet.data import DataSet, load_for_test
from zerosnet.environment import environment, today
from zerosnet.errors import InputError
from zerosnet.robustness import (
    PROTOCOLS,
    RESTARTS,
    SAMPLES,
    Corruptions,
    Protocol,
    ProtocolOptions,
    find_corruptions,
    protocol,
    radius_text,
    run_protocol,
    subject,
    why_not_native,
)
from zerosnet.robustness import ProtocolResult as Measurement
from zerosnet.training.finished.networks import (
    MOST,
    Member,
    arithmetic_of,
    as_classifier,
    convolutions_of,
    find_surrogate,
    fused_groups,
    load_network,
)
from zerosnet.training.machine import cores, torch_settings
from zerosnet.training.runs.store import RunRecord, Store
from zerosnet.training.screen.displays import report_plain_torch
from zerosnet.training.threads import in_parallel

FOLDER = "attacks"
REDUCED = ("images", "restarts", "samples")  # options that a file's name has
_LONGEST = 200  # letters of such a name; file systems take 255
Bar = Callable[[str, int | None], Callable[[int], None]]


def attack_runs(
    store: Store,
    runs: Sequence[str | RunRecord],
    name: str,
    *,
    device: torch.device,
    data: Path | None = None,
    restarts: int | None = None,
    images: int | None = None,
    eps: tuple[float, ...] | None = None,
    samples: int | None = None,
    again: bool = False,
    report: Callable[[str], None] = lambda line: None,
    bar: Bar = lambda label, total: lambda passes: None,
) -> dict[str, Measurement]:
    """Run protocol `name` on runs, those of the store by id or part of it; results by run id, in the order given.

    What was measured before is read from the store, unless `again`. Everything that can be wrong is found before any
    network is attacked, and what is wrong with the runs before data are loaded. As many `images` as there are, or more,
    are all of them. `eps` replaces the protocol's radii, in [0, 1] units. `bar` is called for every group with a label
    and the passes of images to expect, None if unknown, and returns a function to be told of passes done.
    """
    chosen, options = protocol(name), ProtocolOptions(None if restarts == RESTARTS else restarts, images, eps=eps)
    options = replace(options, samples=None if samples == SAMPLES else samples)
    for what, value, takes in (
        ("restarts", restarts, "restarts"),
        ("samples", samples, "samples"),
        ("eps", eps, "radii"),
    ):
        if value is not None and not getattr(chosen, takes):
            able = ", ".join(one.name for one in PROTOCOLS.values() if getattr(one, takes))
            raise InputError(f"{what} is given; protocol {name} does not take it, expected one that does: {able}")
    if options.eps is not None and len(_file_name(name, options)) > _LONGEST:
        raise InputError(f"eps has {len(options.eps)} radii; expected fewer: the name of a result's file holds them")
    chosen.ready()
    asked = (store.find(run) if isinstance(run, str) else run for run in runs)
    records = {record.id: record for record in asked}
    if not records:
        raise InputError("no run was given; expected at least one id")
    corrupted = _published(records.values(), data) if chosen.corrupted and data else {}
    known = {} if again else {run: read_attack(record, name, options) for run, record in records.items()}
    stored = {
        run: found
        for run, found in known.items()
        if found is not None and not (corrupted.get(records[run].spec.dataset) and _is_regenerated(found))
    }
    waiting = [record for record in records.values() if record.id not in stored]
    if stored:
        report(f"{name}: {len(stored)} of {len(records)} from the store, measured before; --again measures anew")
    workers = cores() if device.type == "cpu" else 1
    groups = fused_groups(waiting, MOST if chosen.fused else 1, workers)
    for record in waiting:
        record.check_writable(FOLDER)
    datasets = dict.fromkeys(record.spec.dataset for record in waiting)
    surrogates = {dataset: find_surrogate(store, dataset) for dataset in datasets} if chosen.surrogate else {}
    sets = {dataset: load_for_test(dataset, data, workers=cores(), report=report) for dataset in datasets}
    stop = threading.Event() if min(workers, len(groups)) > 1 else None

    def work(group: Sequence[Member]) -> None:
        first = group[0][0].spec
        label = f"{name}: {len(group)} x {first.model} on {first.dataset}"
        report(label)
        given = replace(options, corruptions=corrupted.get(first.dataset), dataset=first.dataset)
        source = surrogates.get(first.dataset)
        test = sets[first.dataset]
        given = _whole(given, test, chosen.images)
        count = min(given.images or chosen.images or len(test.test), len(test.test))
        total = None if chosen.passes is None else count * chosen.passes(given)
        stored.update(_attack_group(group, chosen, given, test, source, device, stop, report, bar(label, total)))

    with torch_settings(device, deterministic=False):
        in_parallel(work, groups, min(workers, len(groups)), one_thread=False, stop=stop)
    return {run: stored[run] for run in records}


def _published(records: Iterable[RunRecord], data: Path) -> dict[str, Corruptions | None]:
    """Find the published corruptions of the runs' data sets in a folder."""
    return {dataset: find_corruptions(data, dataset) for dataset in {record.spec.dataset for record in records}}


def _is_regenerated(result: Measurement) -> bool:
    """Check if a result is of corruptions made by code, which published files replace."""
    return any(row.settings.get("source") == "regenerated" for row in result.rows)


def _whole(options: ProtocolOptions, data: DataSet, usual: int | None = None) -> ProtocolOptions:
    """Drop the number of images from the options if it covers what the protocol takes without it, `usual` or all."""
    there = len(data.test) if options.corruptions is None else max(len(data.test), options.corruptions.per_severity)
    if options.images is None:
        return options
    whole = min(options.images, there) == min(usual or there, there)
    return replace(options, images=None) if whole else options


def _attack_group(
    group: Sequence[Member],
    chosen: Protocol,
    options: ProtocolOptions,
    data: DataSet,
    surrogate: RunRecord | None,
    device: torch.device,
    stop: threading.Event | None,
    report: Callable[[str], None],
    advance: Callable[[int], None],
) -> dict[str, Measurement]:
    records, networks = zip(*group)
    source = None if surrogate is None else as_classifier([surrogate], [load_network(surrogate)], data, device)
    began = time.monotonic()
    test, classifier = data.test.to(device), as_classifier(records, networks, data, device)
    if stop is not None:
        for network in filter(None, (classifier, source)):
            network.register_forward_pre_hook(partial(_give_up, stop))
    target = replace(subject(classifier, test.images, test.labels, surrogate=source), advance=advance)
    why = why_not_native(classifier, (test.images.shape[2], test.images.shape[3]))
    if device.type == "cuda":
        target = target.compiled()
        report_plain_torch(why or "", report)
    known = [None if record.result is None else record.result.test_accuracy for record in records]
    measured = run_protocol(chosen.name, target, options, known=known)
    made_on = [] if surrogate is None else [f"examples made on {surrogate.id}"]
    results = [
        replace(result, notes=(*result.notes, *made_on, *_differences(record, chosen)))
        for record, result in zip(records, measured)
    ]
    facts = {
        "dataset": data.name,
        "surrogate": None if surrogate is None else surrogate.id,
        "device": device.type,
        "data": data.fingerprint,
        "convolutions": convolutions_of(records[0], device),
        "arithmetic": arithmetic_of(records[0], device),
        "kernels": "native" if why is None else "torch",
        "seconds": (time.monotonic() - began) / len(records),
        "date": today(),
        "environment": environment(),
    }
    for record, result in zip(records, results):
        write_attack(record, options, result, facts)
    return {record.id: result for record, result in zip(records, results)}


class Stopped(Exception):
    """Another thread failed, or the user interrupted all of them."""


def _give_up(stop: threading.Event, *_: Any) -> None:
    """Raise `Stopped` before a pass through a network: threads cannot be interrupted, they have to leave."""
    if stop.is_set():
        raise Stopped


def _differences(record: RunRecord, chosen: Protocol) -> list[str]:
    """List the differences from the paper's protocol, if it is one of the paper's."""
    if chosen.recipe is None:
        return []
    data, recipe = record.spec.dataset, record.spec.recipe.name
    pairs = (
        ("on {}; the paper's data: {}", data, chosen.dataset),
        ("trained with recipe {}; the paper's recipe: {}", recipe, chosen.recipe),
    )
    return [words.format(ours, theirs) for words, ours, theirs in pairs if ours != theirs]


def attack_path(record: RunRecord, name: str, options: ProtocolOptions | None = None) -> Path:
    """Return the path of a result."""
    return record.folder / FOLDER / f"{_file_name(name, options)}.json"


def _file_name(name: str, options: ProtocolOptions | None) -> str:
    """Name a result's file, without its ending; a reduced result has another name than a whole one."""
    reduced: dict[str, Any] = {} if options is None else {key: getattr(options, key) for key in REDUCED}
    if options is not None and options.eps is not None:
        reduced["eps"] = ",".join(radius_text(eps) for eps in options.eps).replace("/", "of")
    return name + "".join(f"+{key}={value}" for key, value in reduced.items() if value is not None)


def pick_attack(
    find: Callable[[str], Measurement | None], name: str, options: ProtocolOptions | None = None
) -> Measurement | None:
    """Find the result of protocol `name` by a function that finds results by file name; None if there is none.

    What was measured without a number of images also answers for as many, and for more if there are no more.
    """
    result = find(_file_name(name, options))
    if result is not None and result.not_run is None:
        return result
    if options is None or options.images is None:
        return None
    whole = pick_attack(find, name, replace(options, images=None))
    return whole if whole is not None and _has(whole, options.images) else None


def _has(whole: Measurement, images: int) -> bool:
    """Check if a result is of so many images, or of all if there are fewer."""
    most = max((row.images for row in whole.rows), default=0)
    return most == images or whole.settings.get("of", most) <= most < images


def read_attack(record: RunRecord, name: str, options: ProtocolOptions | None = None) -> Measurement | None:
    """Read the result of a protocol from a run's folder; None if it has not been run, or could not be."""

    def find(file: str) -> Measurement | None:
        path = record.folder / FOLDER / f"{file}.json"
        return files.read_value(path, Measurement.from_json) if path.exists() else None

    return pick_attack(find, name, options)


def write_attack(record: RunRecord, options: ProtocolOptions, result: Measurement, facts: dict[str, Any]) -> None:
    path = attack_path(record, result.protocol, options)
    files.write_json(path, {"run": record.id, **result.to_json(), **facts})
