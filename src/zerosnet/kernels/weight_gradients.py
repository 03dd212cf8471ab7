"""Weight gradients beside the main work, on a second stream: nothing but the update waits for them."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


class WeightAdder:
    """A second stream that adds up weight gradients from several buffers in turn, `beside` the main work."""

    BUFFERS = 4

    def __init__(self, buffers: Tensor) -> None:
        self.buffers, self.turn = buffers, 0
        self.stream = torch.cuda.Stream(buffers.device)
        self.free: list[torch.cuda.Event | None] = [None] * self.BUFFERS
        self.waited_for = 0
        self.under_way, self.kept = False, list[Tensor]()

    def parts(self) -> tuple[Tensor, bool]:
        """Return the buffer whose turn it is, and whether the main work waits for the sums of its last content.

        It waits for two buffers at a time, since a kernel after such a wait cannot be launched early.
        """
        waits = False
        if self.waited_for == 0:
            for event in (self.free[self.turn], self.free[(self.turn + 1) % self.BUFFERS]):
                if event is not None:
                    torch.cuda.current_stream().wait_event(event)
                    waits = True
            self.waited_for = 2
        return self.buffers[self.turn], waits

    @contextmanager
    def beside(self, *keep: Tensor) -> Iterator[None]:
        """Run work on the second stream, after everything launched so far.

        What it reads must not be freed before `join`: memory goes back to the stream that it came from, which does not
        wait. Tensors to `keep` are held until then.
        """
        self.under_way = True
        self.kept += keep
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            yield

    @contextmanager
    def sums(self) -> Iterator[None]:
        """Run the sums over the buffer whose turn it is, on the second stream."""
        with self.beside():
            yield
            event = torch.cuda.Event()
            event.record()
        self.free[self.turn] = event
        self.turn = (self.turn + 1) % self.BUFFERS
        self.waited_for -= 1

    def join(self) -> None:
        """Wait for the work that is under way. (A graph that is being recorded may wait for its own work only.)"""
        if self.under_way:
            torch.cuda.current_stream().wait_stream(self.stream)
        self.free, self.waited_for, self.under_way = [None] * self.BUFFERS, 0, False
        self.kept.clear()
