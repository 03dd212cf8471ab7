"""Who decodes how many images: workers as many as they can, the device the rest."""

import time
from collections.abc import Callable

import torch

GOLDEN = 0.6180339887498949
MORE = 0.5  # a second of waiting: the share of the images that the device takes over
LESS = 0.01  # a second of any kind: the share that it gives back, so that a fiftieth of the time may be waited
LONGEST = 1.0  # seconds of one batch that count: pauses for an evaluation, and a slow disk's, say little
START = 16  # batches that do not count: workers start, and begin together
TAKING = 0.001  # seconds that a piece takes which is there already


class Balance:
    """The share of its images that a device decodes, seen by all processes.

    What workers do costs a training nothing, what its device does takes the device's time. So the share begins at 0,
    grows with the time that is spent waiting for workers, and shrinks slowly by itself,

        share' = MORE * waiting - LESS,   0 <= share <= 1,

    which settles where about LESS / MORE of the time is waited. Given a `share` it stays at it.
    """

    def __init__(self, share: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._share = torch.full((1,), 0.0 if share is None else share).share_memory_()
        self._moves, self._clock, self._last, self._batches = share is None, clock, clock(), 0

    @property
    def share(self) -> float:
        return float(self._share)

    def device_decodes(self, index: int) -> bool:
        """Whether image `index` is one of the share; those that are lie evenly among all."""
        return index * GOLDEN % 1 < self.share

    def begin(self) -> None:
        """Workers start."""
        self._batches = 0

    def waited(self, seconds: float, pieces: int = 1) -> None:
        """So long the pieces of a batch were waited for."""
        now = self._clock()
        since, self._last = min(now - self._last, LONGEST), now
        self._batches += 1
        if self._moves and self._batches > START:
            waiting = min(max(seconds - pieces * TAKING, 0.0), LONGEST)
            self._share.add_(MORE * waiting - LESS * since).clamp_(0, 1)

    def __getstate__(self) -> dict[str, object]:
        """For workers, which only look."""
        return {"_share": self._share}
