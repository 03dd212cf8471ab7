"""The layout of a width on a chip: threads, blocks and shared memory of its kernels."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """The layout of a width on a chip; see the comments of `source/`."""

    channels: int
    width: int
    replicas: int
    batch: int
    multiprocessors: int

    @property
    def tile_bytes(self) -> int:
        """One image with its halo of zeros in shared memory; rows are 8 pixels longer than the image's."""
        return (self.width + 2) * (self.width + 8) * self.channels * 2

    @property
    def weights(self) -> int:
        """Numbers of a 3x3 weight of one replica."""
        return 9 * self.channels**2

    @property
    def teams(self) -> int:
        """Teams of four warps in a block of the forward kernels: each has its images, all share the weights."""
        return 3 if self.channels == 64 else 1

    @property
    def step_shared(self) -> int:
        """Bytes of shared memory of `conv_step`; the rest of it caches the history."""
        return self.teams * self.tile_bytes + 2 * self.weights

    @property
    def inner_shared(self) -> int:
        """Bytes of shared memory of `conv_inner`, with an image on its way to every team except at 16 channels."""
        ahead = 0 if self.channels == 16 else 2 * self.channels * self.width**2
        return self.step_shared + self.teams * ahead

    @property
    def forward_threads(self) -> int:
        return 128 * self.teams

    @property
    def backward_shared(self) -> int:
        image = 2 * self.channels * self.width**2
        stages, ahead = (2, 3 * image) if self.channels == 64 else (1, 0)  # gradient, z and x of an image on its way
        return 2 * stages * self.tile_bytes + 2 * self.weights + ahead

    @property
    def backward_threads(self) -> int:
        return 512 if self.channels == 64 else 256

    @property
    def forward_resident(self) -> int:
        """Blocks per multiprocessor."""
        return 1 if self.channels == 64 else 3

    @property
    def backward_resident(self) -> int:
        return 1 if self.channels == 64 else 2

    @property
    def forward_blocks(self) -> int:
        """Thread blocks per replica: all that the chip holds. They stay for several images, with their weights."""
        return min(self._most(self.forward_resident), self.batch)

    @property
    def sums(self) -> int:
        """Rows of partial sums per replica, one per block: no kernel has more blocks than images."""
        return self.batch

    @property
    def backward_blocks(self) -> int:
        """Thread blocks per replica: as few as finish as early, since each stores a weight gradient of its own."""
        rounds = -(-self.batch // self._most(self.backward_resident))
        return -(-self.batch // rounds)

    def _most(self, resident: int) -> int:
        """Thread blocks per replica that are on the chip at a time."""
        return max(resident * self.multiprocessors // self.replicas, 1)
