"""Run a foreign network without leaving a trace in it: modes, statistics of batch norms, random numbers."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from zerosnet.models.layers.replicated import BatchNorm

BatchNorms = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm, BatchNorm)


@contextmanager
def evaluation(model: nn.Module, statistics: str = "running") -> Iterator[None]:
    """Evaluation mode, no random numbers used up, every module back in its own mode afterwards."""
    modes = {module: module.training for module in model.modules()}
    norms = [module for module in modes if isinstance(module, BatchNorms) and statistics == "batch"]
    kept = [(norm.momentum, getattr(norm, "num_batches_tracked", None)) for norm in norms]
    with torch.random.fork_rng(devices=[]):
        model.eval()
        for norm in norms:
            norm.training = True
            norm.momentum = 0.0
            if not isinstance(norm, BatchNorm):
                norm.num_batches_tracked = None  # not counted
        try:
            yield
        finally:
            for module, mode in modes.items():
                module.training = mode
            for norm, (momentum, counted) in zip(norms, kept):
                norm.momentum = momentum
                if not isinstance(norm, BatchNorm):
                    norm.num_batches_tracked = counted


def untrained_batch_norms(model: nn.Module) -> bool:
    """Tell whether a network has batch norms, all of which have never seen a batch."""
    norms = [module for module in model.modules() if isinstance(module, BatchNorms)]
    seen = [n for n in norms if n.running_mean is not None and n.running_var is not None
            and bool(n.running_mean.any() or (n.running_var != 1).any())]  # fmt: skip
    return bool(norms) and not seen
