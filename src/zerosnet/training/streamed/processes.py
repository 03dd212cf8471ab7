"""The processes that train one network together, as `torchrun` starts them."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed

from zerosnet.environment import usable_cores
from zerosnet.errors import InputError
from zerosnet.training.machine import World

T = TypeVar("T")
PATIENCE = timedelta(minutes=30)  # a slow start or a long evaluation is not a death; that is noticed at once
MOST_WORKERS = 32


class LostProcess(OSError):
    """An error: another process of the world is gone, and this one cannot go on either."""

    def __init__(self, rank: int) -> None:
        super().__init__(
            f"process {rank}: another process of this job has died, so it ends here; what was saved last is whole, "
            "and the same command goes on from there"
        )


class SharedWorld(World):
    """The place of this process among several that `torchrun` has started."""

    def own_device(self, device: torch.device) -> torch.device:
        """Choose the device of this process: on a machine with several GPUs each process has its own."""
        if device.type != "cuda":
            return device
        there = torch.cuda.device_count()
        if self.local_size > there:
            raise InputError(
                f"{self.local_size} processes on a machine with {there} GPUs; expected at most one per GPU"
            )
        torch.cuda.set_device(self.local_rank)
        return torch.device("cuda", self.local_rank)

    @contextmanager
    def joined(self, device: torch.device) -> Iterator[None]:
        """Meet the other processes, for a while: NCCL for what is on GPUs, gloo for what is on the host.

        If a process dies, the others get an error of the network; it becomes a `LostProcess`.
        """
        options: dict[str, Any] = {"device_id": device} if device.type == "cuda" else {}
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        distributed.init_process_group(backend, timeout=PATIENCE, **options)
        try:
            yield
        except RuntimeError as error:
            if _is_lost(error):
                raise LostProcess(self.rank) from error
            raise
        distributed.destroy_process_group()

    def add_up(self, tensor: Tensor) -> Tensor:
        """Sum over all processes, in place."""
        distributed.all_reduce(tensor)
        return tensor

    def highest(self, number: int) -> int:
        """Find the highest number of all processes, through the host, so that a dead process is noticed at once."""
        shared = torch.tensor([number])
        distributed.all_reduce(shared, distributed.ReduceOp.MAX)
        return int(shared)

    def from_writer(self, value: T) -> T:
        """Give all processes what rank 0 has."""
        shared = [value]
        distributed.broadcast_object_list(shared, src=0)
        return shared[0]

    def spread(self, tensors: Iterable[Tensor]) -> None:
        """Give all processes the tensors of rank 0, in place."""
        for tensor in tensors:
            distributed.broadcast(tensor, src=0)

    def together(self, work: Callable[[], T]) -> T:
        """Do work that bad input can make fail, in every process; if it fails anywhere, all processes end.

        The lowest process that failed raises its error. The others wait for its end and leave silently.
        """
        results, error = [], None
        try:
            results.append(work())
        except InputError as caught:
            error = caught
        failed = [False] * self.size
        distributed.all_gather_object(failed, error is not None)
        if not any(failed):
            return results[0]
        first = failed.index(True)
        if error is not None and first == self.rank:
            raise error
        with suppress(RuntimeError):
            distributed.broadcast_object_list([None], src=first)  # ends when that process does
        raise SystemExit(2)


def shared_world() -> World:
    """Read this process's place from the environment that `torchrun` sets; it may be alone."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    place = [int(os.environ.get(name, "1")) for name in names]
    return SharedWorld(*place) if place[1] > 1 else World(*place)


def decoding_workers(wanted: int | None, world: World) -> int:
    """Choose the number of decoding processes for each training one: a core is left for the training itself."""
    if wanted is not None:
        return wanted
    return min(MOST_WORKERS, max(1, usable_cores() // world.local_size - 1))


def _is_lost(error: RuntimeError) -> bool:
    signs = ("connection closed by peer", "connection reset by peer", "broken pipe", "gloo", "nccl")
    return any(sign in str(error).lower() for sign in signs)
