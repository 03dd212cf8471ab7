"""Group runs that can share a step, as many as fit into memory, and build the network that they are together."""

import math
import os
import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from zerosnet.data import DataSet, FolderData, source
from zerosnet.errors import InputError
from zerosnet.models import Config, Network, configure, fuse
from zerosnet.training.fused.step import TorchStep
from zerosnet.training.machine import Precision, precision
from zerosnet.training.recipes.schedule import Constant
from zerosnet.training.runs.spec import RunSpec

if TYPE_CHECKING:
    from torch import device as Device

MOST = 32  # replicas in a step; above that a large GPU gains nothing
MEMORY = 0.8  # the part of the free memory that may be planned with
ACTIVATIONS = 20  # of a block, in a bound on what a step needs


def network_config(spec: RunSpec, data: DataSet | FolderData) -> Config:
    """Describe the network of a run."""
    options: dict[str, Any] = {} if spec.stage_change is None else {"stage_change": spec.stage_change}
    return configure(
        spec.model,
        scheme=spec.scheme,
        block_schemes=spec.block_schemes,
        beta_growth=spec.beta_growth,
        init_growth=spec.init_growth,
        num_classes=data.num_classes,
        in_chans=data.in_chans,
        **options,
    )


def run_precision(spec: RunSpec, device: "Device") -> Precision:
    """Find what numbers a run computes with on a device.

    Streamed networks have few blocks and large images: on CUDA their state is in half precision by default, too.
    """
    return precision(spec.precision, device, usual="mixed" if source(spec.dataset).streamed else "bf16")


def check_batch_norm(spec: RunSpec, data: DataSet | FolderData, images: int) -> None:
    """Refuse a network that is unknown, or whose batch norm would see one value per channel.

    That is so for one image at a time if the last blocks see a single pixel of it.
    """
    config = network_config(spec, data)
    if images > 1:
        return
    with torch.device("meta"):
        network, image = Network(config, seeds=()), torch.zeros(1, data.in_chans, *data.size)
    try:
        network(image)
    except ValueError:
        height, width = data.size
        raise InputError(
            f"batch norm would see 1 image of {height} x {width} at a time, which leaves it 1 value per channel; "
            "expected --batch or --micro-batch 2 or more"
        ) from None


def key(spec: RunSpec, data: DataSet) -> Hashable:
    """Make a key that is equal for runs that can share a step.

    They must have the same structure, data, batch, epochs, optimiser, augmentation and precision. Scheme, seed,
    learning rate and its schedule, and the decays are a replica's own.
    """
    shared = replace(spec.recipe, name="", lr=0.0, schedule=Constant(), weight_decay=0.0, coefficient_decay=0.0)
    return network_config(spec, data).fusion_key, spec.dataset, spec.validation, spec.precision, shared


def group(
    specs: Sequence[RunSpec], data: Mapping[RunSpec, DataSet], device: "Device", replicas: int | None, workers: int = 1
) -> list[list[RunSpec]]:
    """Group runs that train together, at most `replicas` each; None: what memory allows, spread over the workers."""
    if replicas is not None and replicas < 1:
        raise InputError(f"replicas is {replicas}; expected 1 or more")
    sharing: dict[Hashable, list[RunSpec]] = {}
    for spec in specs:
        sharing.setdefault(key(spec, data[spec]), []).append(spec)
    result: list[list[RunSpec]] = []
    for members in sharing.values():
        if replicas is None and len(members) > 1:
            wanted = len(members) if workers == 1 else MOST
            most = max(1, fitting(members[0], data[members[0]], device, wanted) // workers)
        else:
            most = replicas or 1
        count = -(-len(members) // most)
        if replicas is None and len(sharing) == 1:
            count = min(max(count, workers), len(members))
        result += _even(members, count)
    return result


def share_out(
    specs: Sequence[RunSpec], data: Mapping[RunSpec, DataSet], device: "Device", replicas: int | None, places: int
) -> list[list[RunSpec]]:
    """Group runs for many places side by side: long groups first, and none much above a place's share.

    So the last place to be ready is not far behind the others; long runs are in small groups, short ones in large.
    """
    share = sum(work(spec, data[spec]) for spec in specs) / places
    groups: list[list[RunSpec]] = []
    for members in group(specs, data, device, max(1, len(specs))):
        fair = min(MOST, math.ceil(share / work(members[0], data[members[0]])))
        groups += group(members, data, device, fair if replicas is None else replicas)
    return sorted(groups, key=lambda members: -sum(work(spec, data[spec]) for spec in members))


def work(spec: RunSpec, data: DataSet) -> float:
    """Estimate how much there is to compute, in layers times pixels over all images, epochs and passes."""
    adversarial = spec.recipe.adversarial
    passes = 1 if adversarial is None else 1 + adversarial.steps + adversarial.clean_step
    layers, pixels = network_config(spec, data).structure.depth, data.size[0] * data.size[1]
    return float(layers * pixels * len(data.train) * spec.recipe.epochs * passes)


def fitting(spec: RunSpec, data: DataSet, device: "Device", wanted: int = MOST) -> int:
    """Estimate how many replicas fit into the free memory of the device, by what a plain step of one of them needs.

    No step is made, which would load libraries that our own kernels do without, if those `wanted` fit for sure: then
    the answer is as many as there may be.
    """
    if min(wanted, MOST) * _bound(spec, data, device) <= MEMORY * _free(device):
        return MOST
    free, needed = _cuda_memory(spec, data, device) if device.type == "cuda" else _host_memory(spec, data)
    return max(1, min(MOST, int(MEMORY * free / needed)))


def _bound(spec: RunSpec, data: DataSet, device: "Device") -> int:
    """Compute more bytes than a step of one replica needs, by the measurements below; for CIFAR-size networks."""
    config, pixels, cells = network_config(spec, data), data.size[0] * data.size[1], 0
    if config.structure.size != "cifar" or config.law is not None:  # several streams are a law
        return sys.maxsize
    for block in config.plans():
        for shape in (block.source, block.target):
            channels = max(shape.channels, block.width)
            cells += ACTIVATIONS // 2 * -(-channels * pixels // shape.stride**2) + 9 * channels**2
    return cells * spec.recipe.batch * run_precision(spec, device).dtype.itemsize


def _free(device: "Device") -> int:
    """Find the free bytes of a device."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _cuda_memory(spec: RunSpec, data: DataSet, device: "Device") -> tuple[int, int]:
    """Measure free bytes, and the peak of one step."""
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info(device)
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    numbers = run_precision(spec, device)
    model = Network(network_config(spec, data), [spec.seed])
    model.conv_dtype = numbers.conv_dtype
    model = model.to(device, numbers.dtype).to(memory_format=torch.channels_last)
    images = torch.zeros(spec.recipe.batch, data.in_chans, *data.size, device=device, dtype=numbers.dtype)
    labels = torch.zeros(1, spec.recipe.batch, dtype=torch.int64, device=device)
    TorchStep(model, list(model.parameters()), replicas=1)(images.to(memory_format=torch.channels_last), labels)
    torch.cuda.synchronize(device)
    return free, torch.cuda.max_memory_allocated(device) - before


def _host_memory(spec: RunSpec, data: DataSet) -> tuple[int, int]:
    """Estimate free bytes, and twice what autograd keeps of a forward pass of two images, without computing it."""
    kept: dict[int, torch.UntypedStorage] = {}

    def count(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage._cdata] = storage
        return tensor

    dtype = run_precision(spec, torch.device("cpu")).dtype
    with torch.device("meta"), torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        model = Network(network_config(spec, data), seeds=()).to(dtype)
        model(torch.zeros(2, data.in_chans, *data.size, dtype=dtype))
    return _free(torch.device("cpu")), sum(storage.nbytes() for storage in kept.values()) * spec.recipe.batch


def build_model(specs: Sequence[RunSpec], data: DataSet) -> Network:
    """Draw the fused network of runs that share a step: replica k is the network of specs[k] alone."""
    return Network(fuse([network_config(spec, data) for spec in specs]), [spec.seed for spec in specs])


def _even(members: Sequence[RunSpec], count: int) -> list[list[RunSpec]]:
    """Split into `count` groups whose sizes differ by one at most, in order."""
    size, larger = divmod(len(members), count)
    starts = [i * size + min(i, larger) for i in range(count + 1)]
    return [list(members[a:b]) for a, b in pairwise(starts)]
