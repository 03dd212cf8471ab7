"""Plans of trainings: which runs share a step, which of them come first, and what trains them."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from zerosnet.data import DataSet, FolderData, load, open_folder
from zerosnet.errors import InputError
from zerosnet.training.finished.networks import in_order, surrogate_of, surrogates_among
from zerosnet.training.fused.cuda_graph import forget_compiled
from zerosnet.training.fused.trainer import FusedTrainer
from zerosnet.training.grouping import check_batch_norm, group, run_precision, work
from zerosnet.training.machine import World, cores, under_torchrun
from zerosnet.training.options import Options, StreamOptions
from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.runs.store import Store
from zerosnet.training.screen.displays import Progress
from zerosnet.training.streamed.processes import decoding_workers
from zerosnet.training.streamed.trainer import StreamedTrainer, check_decoder, micro_batch
from zerosnet.training.trainer import Trainer


@dataclass(frozen=True)
class Plan:
    """A plan of what to train.

    Attributes:
        groups: Runs that share a step, those first on which the examples of others are made.
        work: How much there is to compute, by run id, in any unit.
        steps: Steps per epoch of every run.
        trainer: Makes the trainer of runs that share a step.
        at_once: How many groups train side by side.
        first: How many groups have to be over before the others begin.
    """

    groups: Sequence[Sequence[RunSpec]]
    work: dict[str, float]
    steps: dict[RunSpec, int]
    trainer: Callable[[Sequence[RunSpec]], Trainer]
    at_once: int = 1
    first: int = 0

    def stages(self) -> list[Sequence[Sequence[RunSpec]]]:
        """List the groups that may train side by side, one stage after the other."""
        return [part for part in (self.groups[: self.first], self.groups[self.first :]) if part]


def plan_arrays(specs: Sequence[RunSpec], store: Store, options: Options, device: torch.device) -> Plan:
    """Plan runs whose data fit into memory: many networks are trained as one."""
    if options.stream != StreamOptions():
        raise InputError("workers, broken, micro-batch, sync-bn and decoder are for imagefolder")
    if under_torchrun():
        raise InputError("torchrun is for imagefolder; smaller runs share a store by themselves, or use --engine ray")
    for spec in specs:
        run_precision(spec, device)
        if spec.precision == "mixed":
            raise InputError("precision mixed is for imagefolder; expected bf16, fp32 or fp64")
    data = load_all(specs, options)
    for spec in specs:
        check_batch_norm(spec, data[spec], spec.recipe.batch)
    for spec in specs:
        if not surrogates_among(specs, [spec]):
            surrogate_of(spec, store)  # a missing one is found before any work is done
    workers = cores() if device.type == "cpu" else 1
    stages = [group(part, data, device, options.replicas, workers) for part in in_order(specs)]
    groups = [members for stage in stages for members in stage]

    def trainer(members: Sequence[RunSpec]) -> Trainer:
        first = members[0]
        surrogate = surrogate_of(first, store)
        return FusedTrainer(members, data[first], device, surrogate=surrogate, kernels=options.kernels)

    return Plan(
        groups,
        {spec.id: work(spec, data[spec]) for spec in specs},
        {spec: len(data[spec].train) // spec.recipe.batch for spec in specs},
        trainer,
        at_once=min(workers, len(groups)),
        first=len(stages[0]) if len(stages) > 1 else 0,
    )


def plan_streamed(
    specs: Sequence[RunSpec], options: Options, device: torch.device, world: World, progress: Progress
) -> Plan:
    """Plan runs on folders of images: one network after the other, trained by all processes together."""
    stream = options.stream
    if options.replicas is not None:
        raise InputError(f"replicas is {options.replicas}; networks on imagefolder are trained one at a time")
    opened: dict[tuple[str, float | None], FolderData] = {}
    for spec in specs:
        recipe, key = spec.recipe, (spec.dataset, spec.validation)
        run_precision(spec, device)
        at_once = micro_batch(recipe.batch, world, stream.micro_batch)
        check_decoder(stream.decoder, device, deterministic=options.deterministic)
        if recipe.adversarial is not None or recipe.noise or recipe.augmentation.crop:
            words = {"adversarial training": recipe.adversarial, "noise on the images": recipe.noise}
            what = next((word for word, asked in words.items() if asked), "a crop after padding")
            raise InputError(f"recipe {recipe.name} asks for {what}, which imagefolder has not; expected imagenet")
        if key not in opened:
            opened[key] = open_folder(spec.dataset, options.data, validation=spec.validation or 0.0)
        images = len(opened[key].train)
        if recipe.batch > images:
            raise InputError(f"batch is {recipe.batch}, but there are only {images} training images; see --batch")
        check_batch_norm(spec, opened[key], at_once * world.size if stream.sync_bn else at_once)
    report = progress.report if world.writes else partial(print, file=sys.stderr, flush=True)
    before: list[RunSpec] = []

    def trainer(members: Sequence[RunSpec]) -> Trainer:
        (spec,) = members
        if not before or replace(spec, seed=before[-1].seed) != before[-1]:
            forget_compiled(device)  # what was compiled for one seed serves all others
        before.append(spec)
        workers = decoding_workers(stream.workers, world)
        data = opened[spec.dataset, spec.validation]
        return StreamedTrainer(
            spec, data, device, world, stream, workers=workers, report=report, kernels=options.kernels
        )

    return Plan(
        [[spec] for spec in specs],
        {spec.id: float(spec.recipe.epochs) for spec in specs},
        {spec: len(opened[spec.dataset, spec.validation].train) // spec.recipe.batch for spec in specs},
        trainer,
    )


def load_all(specs: Sequence[RunSpec], options: Options) -> dict[RunSpec, DataSet]:
    """Load the data sets of runs, each once, and refuse batches that are larger than a training set."""
    loaded: dict[tuple[str, float | None], DataSet] = {}
    for spec in specs:
        if (key := (spec.dataset, spec.validation)) not in loaded:
            loaded[key] = load(spec.dataset, options.data, download=options.download, validation=spec.validation or 0.0)
        images, batch = len(loaded[key].train), spec.recipe.batch
        if batch > images:
            raise InputError(f"batch is {batch}, but there are only {images} training images; expected at most as many")
    return {spec: loaded[spec.dataset, spec.validation] for spec in specs}
