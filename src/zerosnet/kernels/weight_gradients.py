"""Weight gradients beside the main work, on a second stream: nothing but the update waits for them."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


class WeightAdder:
    """A second stream that adds up the blocks' weight gradients from two buffers in turn, `beside` the main work."""

    def __init__(self, buffers: Tensor) -> None:
        self.buffers, self.turn = buffers, 0
        self.stream = torch.cuda.Stream(buffers.device)
        self.free: list[torch.cuda.Event | None] = [None, None]
        self.under_way, self.kept = False, list[Tensor]()

    def parts(self) -> Tensor:
        """Return the buffer whose turn it is, once the sums of its last content are done."""
        event = self.free[self.turn]
        if event is not None:
            torch.cuda.current_stream().wait_event(event)
        return self.buffers[self.turn]

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
        self.turn = 1 - self.turn

    def join(self) -> None:
        """Wait for the work that is under way. (A graph that is being recorded may wait for its own work only.)"""
        if self.under_way:
            torch.cuda.current_stream().wait_stream(self.stream)
        self.free, self.under_way = [None, None], False
        self.kept.clear()
