"""Sums of weight gradients beside the main work, on a second stream."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


class WeightAdder:
    """Adds up the blocks' weight gradients on a second stream, beside the next kernel, from two buffers in turn."""

    def __init__(self, buffers: Tensor) -> None:
        self.buffers, self.turn = buffers, 0
        self.stream = torch.cuda.Stream(buffers.device)
        self.free: list[torch.cuda.Event | None] = [None, None]

    def parts(self) -> Tensor:
        """The buffer whose turn it is, once the sums of its last content are done."""
        event = self.free[self.turn]
        if event is not None:
            torch.cuda.current_stream().wait_event(event)
        return self.buffers[self.turn]

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Work on the second stream that follows what has been launched so far."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            yield
            event = torch.cuda.Event()
            event.record()
        self.free[self.turn] = event
        self.turn = 1 - self.turn

    def join(self) -> None:
        """Wait for the sums that are under way. (A graph that is being recorded may wait for its own work only.)"""
        if any(self.free):
            torch.cuda.current_stream().wait_stream(self.stream)
        self.free = [None, None]
