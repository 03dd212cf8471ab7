"""Batches of a folder of images: decoded by worker processes or by the device, put together on the device."""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from zerosnet.data.arrays.epochs import epoch_plan
from zerosnet.data.registry import Augmentation
from zerosnet.data.streamed.decode import BrokenImage, centre_image, training_image
from zerosnet.data.streamed.imagefolder import FileSet
from zerosnet.data.streamed.prefetch import by_a_thread, one_ahead
from zerosnet.errors import InputError

PIECE = 64  # images a worker decodes at a time: many small pieces keep all workers busy, whatever the batch is
AHEAD = 4  # pieces a worker may be ahead
BATCHES_AHEAD = 2  # that the device decodes before they are used
GRACE = 60.0  # seconds that a worker stays when everybody is told to end
PATIENCE = 600.0  # seconds without a single piece after which a loader is given up: a hang becomes an error
UNCOUNTED = -1  # the label of what fills up the last batch of an evaluation, and of broken images in it


class BatchPiece(NamedTuple):
    """Decoded images, uint8 (n, side, side, 3), marks of those to mirror, labels, and a line per broken file."""

    images: Tensor
    flips: Tensor
    labels: Tensor
    broken: list[str]


class Batch(NamedTuple):
    """A piece, or several of them, on the device."""

    images: Tensor
    flips: Tensor
    labels: Tensor


Item = tuple[int, int]
"""(epoch, index) of a training image; (-1, index) of one to be looked at as it is, (-1, -1) of none."""
AS_IT_IS = -1
FILLING: Item = (AS_IT_IS, -1)


@dataclass(frozen=True, eq=False)
class Decoder(Dataset[BatchPiece]):
    """A worker's task: items to a piece. If a training image is broken the next good file takes its place."""

    files: FileSet
    side: int
    augmentation: Augmentation = Augmentation()  # noqa: RUF009 (frozen)
    seed: int = 0

    def __getitems__(self, items: Sequence[Item]) -> BatchPiece:
        images = torch.zeros(len(items), self.side, self.side, 3, dtype=torch.uint8)
        flips = torch.zeros(len(items), dtype=torch.bool)
        labels = torch.full((len(items),), UNCOUNTED, dtype=torch.int64)
        broken: list[str] = []
        for place, (epoch, index) in enumerate(items):
            if (epoch, index) == FILLING:
                continue
            try:
                found, image, flip = self._training(epoch, index, broken) if epoch >= 0 else self._test(index)
            except BrokenImage as reason:
                broken.append(f"{self.files.path(index)} cannot be decoded ({reason})")
                continue
            images[place], flips[place], labels[place] = image, flip, self.files.labels[found]
        return BatchPiece(images, flips, labels, broken)

    def _test(self, index: int) -> tuple[int, Tensor, bool]:
        return index, centre_image(self.files.path(index), self.side), False

    def _training(self, epoch: int, index: int, broken: list[str]) -> tuple[int, Tensor, bool]:
        for turn in range(len(self.files)):
            at = (index + turn) % len(self.files)
            try:
                return at, *training_image(self.files.path(at), self.side, self.augmentation, self.seed, epoch, at)
            except BrokenImage as reason:
                broken.append(f"{self.files.path(at)} cannot be decoded ({reason})")
        raise InputError(f"{self.files.root} holds not one image that can be decoded; the last: {broken[-1]}")


class Stream:
    """Batches of fixed size on a device, in the order of `items`; the next one is copied while one is used.

    `workers` 0 decodes in this process; `persistent` ones wait for the next pass. With `on_device` workers only read
    files, and a thread has the device decode them. A broken file is handed to `report`, once.
    """

    def __init__(
        self,
        decoder: Decoder,
        items: Callable[[], Iterator[Sequence[Item]]],
        *,
        batch: int,
        device: torch.device,
        workers: int,
        persistent: bool = False,
        on_device: bool = False,
        report: Callable[[str], None],
    ) -> None:
        self.batch, self.device, self.report = batch, device, report
        self._seen: set[str] = set()
        self._pieces = [min(PIECE, batch - start) for start in range(0, batch, PIECE)]
        self._side = torch.cuda.Stream(device, priority=-1) if device.type == "cuda" else None
        self._on_device = on_device
        self._join: Callable[[Sequence[Any]], BatchPiece] = partial(joined, device)
        dataset: Dataset[Any] = decoder
        if on_device:
            from zerosnet.data.streamed.gpu_decode import Reader, decode_on

            dataset, self._join = Reader(decoder), partial(decode_on, device, decoder)
        options: dict[str, Any] = {}
        if workers:
            options = {"prefetch_factor": AHEAD, "timeout": PATIENCE, "persistent_workers": persistent}
        self.loader = DataLoader(
            dataset,
            batch_sampler=_Pieces(items, self._pieces),
            collate_fn=_as_it_is,
            num_workers=workers,
            worker_init_fn=_leave_signals_to_the_trainer,
            pin_memory=self._side is not None,
            **options,
        )

    def __iter__(self) -> Iterator[Batch]:
        with warnings.catch_warnings():  # workers only read files and never touch what other threads hold
            warnings.filterwarnings("ignore", message=".*multi-threaded, use of fork.*", category=DeprecationWarning)
            pieces = iter(self.loader)
        following = partial(self._next, pieces)
        for batch, ready in self._by_a_thread(following) if self._on_device else one_ahead(following):
            if ready is not None:
                here = torch.cuda.current_stream(self.device)
                here.wait_event(ready)
                for tensor in batch:
                    tensor.record_stream(here)
            yield batch

    def _by_a_thread(self, following: Callable[[], Any]) -> Iterator[Any]:
        """Have a thread tell the device to decode; the thread has to be told which device that is."""
        on_cuda = self.device.type == "cuda"
        begin = partial(torch.cuda.set_device, self.device) if on_cuda else lambda: None
        return by_a_thread(following, BATCHES_AHEAD, begin)

    def _next(self, pieces: Iterator[Any]) -> tuple[Batch, Any] | None:
        """Take the pieces of a batch and start their way to the device, on a stream of its own."""
        taken = [piece for _, piece in zip(self._pieces, pieces)]  # zip stops before it takes one too many
        if not taken:
            return None
        with nullcontext() if self._side is None else torch.cuda.stream(self._side):
            whole = self._join(taken)
        for line in whole.broken:
            if line not in self._seen:
                self._seen.add(line)
                self.report(line)
        return Batch(*whole[:3]), None if self._side is None else self._side.record_event()


def joined(device: torch.device, pieces: Sequence[BatchPiece]) -> BatchPiece:
    """Join pieces to one, on a device."""
    columns = zip(*(piece[:3] for piece in pieces))
    images, flips, labels = (torch.cat([t.to(device, non_blocking=True) for t in column]) for column in columns)
    return BatchPiece(images, flips, labels, [line for piece in pieces for line in piece.broken])


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Batches of items, cut into pieces."""

    items: Callable[[], Iterator[Sequence[Item]]]
    sizes: Sequence[int]

    def __iter__(self) -> Iterator[list[Item]]:
        for batch in self.items():
            rest = iter(batch)
            for size in self.sizes:
                yield [item for _, item in zip(range(size), rest)]


def _leave_signals_to_the_trainer(worker: int) -> None:
    """Ctrl-C, torchrun and Slurm signal workers too; the training stops after a step, and needs them till then."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "sigtimedwait"):  # not on macOS
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=_end_when_told, daemon=True).start()


def _end_when_told() -> None:
    """The trainer's own SIGTERM ends a worker at once; one that was sent to all leaves the trainer time to end."""
    told: Any = signal.sigwaitinfo({signal.SIGTERM})
    while told is not None and told.si_pid != os.getppid():
        told = signal.sigtimedwait({signal.SIGTERM}, GRACE)
    os._exit(0)


def _as_it_is(piece: Any) -> Any:
    return piece


def training_items(
    n: int, *, seed: int, batch: int, part: tuple[int, int], micro: int, position: int, steps: int
) -> Iterator[list[Item]]:
    """Yield the micro-batches of one process from step `position` on, up to step `steps`.

    A step's batch is cut into micro-batches in order; process r of w takes part r of w equal parts. So the images
    of a micro-batch depend on its size, not on the number of processes.
    """
    rank, size = part
    share = batch // size
    per_epoch = n // batch
    while position < steps:
        epoch, first = divmod(position, per_epoch)
        order = epoch_plan(seed, epoch, n, batch=batch, augmentation=Augmentation()).order.view(per_epoch, size, share)
        for row in order[first : first + steps - position, rank]:
            for start in range(0, share, micro):
                yield [(epoch, index) for index in row[start : start + micro].tolist()]
            position += 1


def evaluation_items(n: int, *, batch: int, part: tuple[int, int]) -> Iterator[list[Item]]:
    """Share all images out among the processes, each once; all get equally many batches, filled up with blanks."""
    rank, size = part
    share = -(-n // size)
    mine = range(rank * share, min((rank + 1) * share, n))
    for start in range(0, share, batch):
        items = [(AS_IT_IS, index) for index in mine[start : start + batch]]
        yield items + [FILLING] * (batch - len(items))


def to_numbers(images: Tensor, flips: Tensor, mean: Tensor, std: Tensor, dtype: torch.dtype) -> Tensor:
    """(B, H, W, C) bytes to (B, C, H, W) normalised numbers in channels_last memory, mirrored if marked."""
    turned = torch.where(flips[:, None, None, None], images.flip(2), images)
    return ((turned.to(dtype) / 255 - mean.to(dtype)) / std.to(dtype)).permute(0, 3, 1, 2)
