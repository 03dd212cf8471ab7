"""The networks of finished runs, taken from the store: to be attacked, or to make adversarial examples on."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import nn

from zerosnet import files
from zerosnet.data import DataSet, FolderData, ImageSet, pixel_statistics, source
from zerosnet.errors import InputError
from zerosnet.models import Network, combine, fuse, load_model, model_facts, weights_file
from zerosnet.robustness import Normalised
from zerosnet.training.fused.passes import Evaluation, Predictor
from zerosnet.training.grouping import run_precision
from zerosnet.training.options import Precision
from zerosnet.training.recipes.book import RECIPES
from zerosnet.training.recipes.recipe import Recipe
from zerosnet.training.runs.run import WEIGHTS
from zerosnet.training.runs.spec import Result, RunSpec
from zerosnet.training.runs.store import RunRecord, Store
from zerosnet.training.trainer import Score

MOST = 16  # networks that are shown images side by side
Member = tuple[RunRecord, Network]


def load_network(record: RunRecord) -> Network:
    """Load the network of a finished run, as its last epoch left it."""
    if record.status != "finished":
        raise InputError(f"run {record.id} is {record.status}; expected a finished one")
    if not record.has_weights:
        raise InputError(
            f"{record.folder} is a record without {WEIGHTS}; train it again into another store: "
            f"zerosnet sweep {record.folder / 'spec.json'} --store NEW"
        )
    return load_model(record.weights)


@contextmanager
def trained_run(name: str) -> Iterator[RunRecord]:
    """A trained network that comes with the package as a finished run, in a folder that is gone afterwards.

    It computes in plain float32, whatever the device, as its recorded accuracy was measured.
    """
    facts = model_facts(name)
    recipe, model = Recipe.from_json(facts["recipe"]), name.removesuffix(f".{facts['dataset']}")
    spec = RunSpec(model, facts["dataset"], recipe, facts["seed"], precision="fp32")
    result = Result("finished", recipe.epochs, seconds=0.0, test_accuracy=facts["test_accuracy"])
    with TemporaryDirectory() as folder:
        (Path(folder) / WEIGHTS).symlink_to(weights_file(name).resolve())
        yield RunRecord(name, Path(folder), spec, result.status, result)


def find_surrogate(store: Store, dataset: str, model: str = "preresnet20", seed: int = 1) -> RunRecord:
    """Find the finished, normally trained run of this model and seed; the first recipe of the book goes first.

    The paper does not name the network on which its PGD examples were made; PreResNet-20 with seed 1 is our choice.
    """
    fitting = [
        record
        for record in store.scan()[0]
        if _can_be_surrogate(record.spec, (dataset, model, seed)) and record.status == "finished"
    ]
    if not fitting:
        raise InputError(
            f"there is no surrogate in store {store.root}: a finished, normally trained {model} on {dataset} with seed "
            f"{seed}; make it with: zerosnet train {model} --dataset {dataset} --seed {seed} --store {store.root}"
        )
    book = {name: place for place, name in enumerate(RECIPES)}
    return min(fitting, key=lambda r: (book.get(r.spec.recipe.name, len(book)), bool(r.spec.changes), r.id))


def _can_be_surrogate(spec: RunSpec, asked: tuple[str, str, int]) -> bool:
    usual = spec.scheme is None and spec.recipe.adversarial is None
    return usual and (spec.dataset, spec.model, spec.seed) == asked


def _asked_surrogate(spec: RunSpec) -> tuple[str, str, int] | None:
    """Name data set, model and seed of the network that makes the examples of a training; None if it needs none."""
    settings = spec.recipe.adversarial
    if settings is None or settings.surrogate is None or settings.surrogate_seed is None:
        return None
    return spec.dataset, settings.surrogate, settings.surrogate_seed


def surrogates_among(specs: Sequence[RunSpec], needed_by: Sequence[RunSpec]) -> list[RunSpec]:
    """List those of some runs whose networks make the examples of others."""
    asked = {_asked_surrogate(spec) for spec in needed_by} - {None}
    return [spec for spec in specs if any(one and _can_be_surrogate(spec, one) for one in asked)]


def in_order(specs: Sequence[RunSpec]) -> list[list[RunSpec]]:
    """Split runs into those that have to end first, since examples are made on them, and the others."""
    first = surrogates_among(specs, specs)
    return [part for part in (first, [spec for spec in specs if spec not in first]) if part]


def surrogate_of(spec: RunSpec, store: Store) -> RunRecord | None:
    """Find the run whose network makes the examples of an adversarial training; None if it needs none.

    A training that has begun goes on with the surrogate that it began with.
    """
    asked = _asked_surrogate(spec)
    if asked is None:
        return None
    begun = store.folder(spec) / "environment.json"
    if begun.exists() and (name := files.read_json(begun).get("surrogate")):
        return store.find(name)
    return find_surrogate(store, *asked)


def numbers_of(record: RunRecord, device: torch.device) -> Precision:
    """Choose the precision of a run's network: that of its training, as far as the device has it."""
    spec = record.spec
    if spec.precision in ("bf16", "mixed") and device.type != "cuda":
        spec = replace(spec, precision=None)
    return run_precision(spec, device)


def fusion_key(record: RunRecord, network: Network) -> Hashable:
    """Make a key that is equal for runs whose networks can be fused to classify the same images."""
    spec = record.spec
    return network.config.fusion_key, spec.dataset, spec.recipe.scaling, spec.precision


def fused_groups(records: Sequence[RunRecord], most: int, workers: int) -> list[list[Member]]:
    """Group runs and their networks by what can be fused, at most `most` per group, with a group for every worker.

    Networks on streamed data stay alone: they are wide enough to fill a device.
    """
    alike: dict[Hashable, list[Member]] = {}
    for record in records:
        network = load_network(record)
        alike.setdefault(fusion_key(record, network), []).append((record, network))
    groups = []
    for same in alike.values():
        alone = source(same[0][0].spec.dataset).streamed
        size = 1 if alone else min(most, -(-len(same) // workers))
        groups += [same[i : i + size] for i in range(0, len(same), size)]
    return groups


def convolutions_of(record: RunRecord, device: torch.device) -> str:
    """Name the type that a run's convolutions compute in on a device, as records do."""
    numbers = numbers_of(record, device)
    return str(numbers.conv_dtype or numbers.dtype).removeprefix("torch.")


def arithmetic_of(record: RunRecord, device: torch.device) -> str:
    """Name the types that a run's network computes in on a device, as environment.json does."""
    return str(numbers_of(record, device))


def check_fits(network: Network, data: DataSet | FolderData, name: str) -> None:
    """Refuse data that do not fit a network: folders of images may have changed since its training."""
    config, there = network.config, (data.num_classes, data.in_chans)
    if (config.num_classes, config.in_chans) != there:
        raise InputError(
            f"dataset {data.name!r} has {there[0]} classes and {there[1]} channels; {name} was trained on "
            f"{config.num_classes} and {config.in_chans}"
        )


def as_classifier(
    records: Sequence[RunRecord], networks: Sequence[Network], data: DataSet, device: torch.device
) -> Normalised:
    """Fuse the networks of runs with one `fusion_key`, on a device, to a classifier of images of [0, 1]."""
    for record, network in zip(records, networks):
        check_fits(network, data, record.id)
    numbers = numbers_of(records[0], device)
    fused = Network(fuse([network.config for network in networks]), seeds=[0] * len(networks))
    fused.to(numbers.dtype).load_state_dict(combine([network.state_dict() for network in networks]))
    fused.conv_dtype, fused.state_dtype = numbers.conv_dtype, numbers.state_dtype
    layout = torch.channels_last if device.type == "cuda" else torch.contiguous_format
    statistics = pixel_statistics(data, records[0].spec.recipe.scaling)
    return Normalised(fused.to(memory_format=layout), *statistics).to(device, numbers.dtype).eval()


def evaluate(
    model: nn.Module,
    images: ImageSet,
    statistics: tuple[tuple[float, ...], tuple[float, ...]],
    *,
    replicas: int = 1,
) -> list[Score]:
    """Score a network, or the replicas of a fused one, on a set; nothing is compiled or captured."""
    device, dtype = next((p.device, p.dtype) for p in model.parameters())
    mean, std = (torch.tensor(values, dtype=dtype, device=device) for values in statistics)
    was_training = model.training
    evaluation = Evaluation(
        Predictor(model, replicas=replicas, compiled=False),
        images.to(device),
        (mean, std),
        dtype=dtype,
        channels_last=device.type == "cuda",
        capture=False,
    )
    evaluation.run()
    model.train(was_training)
    return evaluation.scores()
