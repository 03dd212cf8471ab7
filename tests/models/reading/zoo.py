"""Small residual networks of every make, whose wirings are known."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 24


class Branch(nn.Module):
    """A normalised two-layer branch."""

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functional.gelu(self.up(self.norm(x))))


class Gains(nn.Module):
    """y <- keep y + add f(y), in a ModuleList."""

    def __init__(self, keep: list[float], add: list[float]) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 3)
        self.branches = nn.ModuleList(Branch() for _ in keep)
        self.keep, self.add = nn.Parameter(torch.tensor(keep)), nn.Parameter(torch.tensor(add))

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        for n, f in enumerate(self.branches):
            y = self.keep[n] * y + self.add[n] * f(y)
        return self.head(y)


class FirstStateMixedIn(nn.Module):
    """y <- a y + m y_0, then y <- y + f(y): two streams."""

    def __init__(self, weights: list[tuple[float, float]]) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 3)
        self.branches = nn.ModuleList(Branch() for _ in weights)
        self.weights = weights

    def forward(self, x: Tensor) -> Tensor:
        first = y = self.stem(x)
        for (a, m), f in zip(self.weights, self.branches):
            y = a * y + m * first
            y = y + f(y)
        return self.head(y)


class HyperConnections(nn.Module):
    """Streams (..., m, width) mixed by a matrix per block, as in a notebook; `used=False` forgets to apply it."""

    def __init__(self, A: Tensor, b: Tensor, c: Tensor, *, used: bool = True, dynamic: float = 0.0) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 3)
        self.branches = nn.ModuleList(Branch() for _ in A)
        self.A, self.b, self.c = (nn.Parameter(t) for t in (A, b, c))
        self.gate = nn.Linear(WIDTH, A.shape[-1] ** 2)
        self.used, self.dynamic = used, dynamic

    def mixing(self, n: int, X: Tensor) -> Tensor:
        m = X.shape[-2]
        extra = torch.tanh(self.gate(functional.layer_norm(X.mean(-2), (WIDTH,)))).unflatten(-1, (m, m))
        return self.A[n] + self.dynamic * extra

    def forward(self, x: Tensor) -> Tensor:
        X = self.stem(x).unsqueeze(-2).expand(*x.shape[:-1], self.A.shape[-1], WIDTH)
        for n, f in enumerate(self.branches):
            read = torch.einsum("m,...md->...d", self.c[n], X)
            kept = self.mixing(n, X) @ X if self.used else X
            X = kept + self.b[n][:, None] * f(read).unsqueeze(-2)
        return self.head(X.sum(-2))


class ListOfStreams(nn.Module):
    """The same with every stream a tensor of its own, in a tuple from block to block."""

    def __init__(self, A: Tensor, b: Tensor, c: Tensor) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 3)
        self.branches = nn.ModuleList(Branch() for _ in A)
        self.A, self.b, self.c = A, b, c

    def forward(self, x: Tensor) -> Tensor:
        first = self.stem(x)
        X = (first, 2 * first)
        for n, f in enumerate(self.branches):
            added = f(sum(w * s for w, s in zip(self.c[n].tolist(), X)))
            rows = self.A[n].tolist()
            X = tuple(sum(a * s for a, s in zip(row, X)) + b * added for row, b in zip(rows, self.b[n].tolist()))
        return self.head(X[0] - X[1])


class Dictionaries(nn.Module):
    """Blocks that take keyword arguments and return dictionaries; so does the network."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.f = Branch()

        def forward(self, *, state: Tensor, scale: float) -> dict[str, Any]:
            return {"state": state + scale * self.f(state), "extra": (state.mean(), None)}

    def __init__(self, scales: list[float]) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 3)
        self.blocks = nn.ModuleList(self.Block() for _ in scales)
        self.scales = scales

    def forward(self, *, images: Tensor, unused: Tensor | None = None) -> dict[str, Tensor]:
        state = self.stem(images)
        for block, scale in zip(self.blocks, self.scales):
            state = block(state=state, scale=scale)["state"]
        return {"logits": self.head(state)}


class Parallel(nn.Module):
    """y + attention(y) + mlp(y): two branches side by side are one block."""

    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 3)
        self.first = nn.ModuleList(Branch() for _ in range(blocks))
        self.second = nn.ModuleList(Branch() for _ in range(blocks))

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        for f, g in zip(self.first, self.second):
            y = y + f(y) + g(y)
        return self.head(y)


class PostNorm(nn.Module):
    """y <- norm(y + f(y))."""

    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 3)
        self.branches = nn.ModuleList(Branch() for _ in range(blocks))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(blocks))

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        for f, norm in zip(self.branches, self.norms):
            y = norm(y + f(y))
        return self.head(y)


class Highway(nn.Module):
    """y <- g(y) y + (1 - g(y)) f(y) with a gate per feature: a sum that no scalar weights describe."""

    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 3)
        self.branches = nn.ModuleList(Branch() for _ in range(blocks))
        self.gates = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(blocks))

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        for f, gate in zip(self.branches, self.gates):
            g = torch.sigmoid(gate(y))
            y = g * y + (1 - g) * f(y)
        return self.head(y)


class Permuted(nn.Module):
    """y <- permuted y + f(y): linear, but no weighted sum of streams."""

    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 3)
        self.branches = nn.ModuleList(Branch() for _ in range(blocks))

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        order = torch.arange(WIDTH).roll(1)
        for f in self.branches:
            y = y[..., order] + f(y)
        return self.head(y)


class InTheMiddle(nn.Module):
    """m streams along the axis after the images, written by f[:, None]."""

    def __init__(self, blocks: int = 3, m: int = 4, width: int = 16) -> None:
        super().__init__()
        self.branches = nn.ModuleList(Branch(width) for _ in range(blocks))
        self.mix = nn.Parameter(torch.softmax(torch.randn(blocks, m, m), -1))
        self.write, self.read = (nn.Parameter(torch.rand(blocks, m)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        streams = x.unsqueeze(1).repeat(1, self.mix.shape[1], 1, 1)
        for f, mix, write, read in zip(self.branches, self.mix, self.write, self.read):
            added = f(torch.einsum("m,bmtd->btd", read, streams))
            streams = torch.einsum("mk,bktd->bmtd", mix, streams) + write.view(1, -1, 1, 1) * added[:, None]
        return streams.sum(1)


class ScaledBefore(nn.Module):
    """x <- g x, then x <- x + f(x): what a block keeps is applied before it."""

    def __init__(self, gain: float = 0.8, blocks: int = 8, width: int = 64) -> None:
        super().__init__()
        self.gain, self.branches = gain, nn.ModuleList(Branch(width) for _ in range(blocks))

    def forward(self, x: Tensor) -> Tensor:
        for f in self.branches:
            x = self.gain * x
            x = x + f(x)
        return x


class DenseAverages(nn.Module):
    """DenseFormer: after every block a weighted average of all states so far takes the place of the newest one."""

    def __init__(self, weights: Tensor, width: int = 16) -> None:
        super().__init__()
        self.weights = nn.Parameter(weights)
        self.branches = nn.ModuleList(Branch(width) for _ in weights)

    def forward(self, x: Tensor) -> Tensor:
        states = [x]
        for n, f in enumerate(self.branches):
            states.append(states[-1] + f(states[-1]))
            states[-1] = sum(weight * state for weight, state in zip(self.weights[n], states))
        return states[-1]


class WrittenOver(nn.Module):
    """x += f(x), in place, so that no gradient can be taken."""

    def __init__(self, blocks: int = 3, width: int = 16) -> None:
        super().__init__()
        self.branches = nn.ModuleList(Branch(width) for _ in range(blocks))

    def forward(self, x: Tensor) -> Tensor:
        x = x.clone()
        for f in self.branches:
            x += f(x)
        return x


class Positions(nn.Module):
    """Embeddings of tokens, positions and segments, added one by one; with `each`, positions before every block."""

    def __init__(self, *, each: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words, self.positions, self.segments = (nn.Embedding(20, WIDTH) for _ in range(3))
        self.branches, self.head = nn.ModuleList(Branch() for _ in range(3)), nn.Linear(WIDTH, 3)
        self.each = each

    def forward(self, texts: Tensor) -> Tensor:
        positions = (texts != 0).cumsum(1)
        y = self.words(texts) + self.segments(torch.zeros_like(texts))
        y = y + self.positions(positions)
        for f in self.branches:
            y = y + self.positions(positions) if self.each else y
            y = y + f(y)
        return self.head(y)
