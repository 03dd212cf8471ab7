"""Estimate how many networks to train side by side: what fits into memory, and a fair share of many places."""

import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from zerosnet.data import DataSet
from zerosnet.models import Network
from zerosnet.training.fused.passes import TorchStep
from zerosnet.training.grouping import group, network_config, run_precision, work
from zerosnet.training.runs.spec import RunSpec

if TYPE_CHECKING:
    from torch import device as Device

MOST = 32  # replicas in a step; above that a large GPU gains nothing
MEMORY = 0.8  # the part of the free memory that may be planned with
ACTIVATIONS = 20  # of a block, in a bound on what a step needs


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
    if config.structure.size != "cifar":
        return sys.maxsize
    weights = 9 if config.law is None else 18  # trained coefficients multiply them, and both are kept
    for block in config.plans():
        for shape in (block.source, block.target):
            channels = max(shape.channels, block.width)
            cells += ACTIVATIONS // 2 * -(-channels * pixels // shape.stride**2) + weights * channels**2
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
