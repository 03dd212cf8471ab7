"""Requests for a wiring: which form it has, its numbers, and how many blocks.

A form takes the parameters that it names, and no others; numbers are text until they have been counted.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from zerosnet.explorer import limits
from zerosnet.explorer.limits import BadParameter, numbers_in
from zerosnet.explorer.query import checked
from zerosnet.numerics import Number, Stage, Step, Wiring, blocks_of, draw_mixing, number

LAYERS = (20, 32, 44, 56, 110)
"""Layers of the networks that can be asked for; those of bottlenecks have another stem."""

MOST_STREAMS = 8
_MOST_SEED = 10**9


@dataclass(frozen=True)
class Form:
    """A way to write a wiring down: what it is called, and the parameters that it takes, with their defaults."""

    title: str
    defaults: dict[str, str]


_STREAMS = {"write": "all", "read": "turns"}
_DRAWN = {"streams": "4", "spread": "0.1", "seed": "1", **_STREAMS}
FORMS = {
    "constant": Form("constant gains", {"keep": "1", "add": "1"}),
    "scaled": Form("falling branches", {"add": "1", "power": "1/2"}),
    "small": Form("small branches", {"add": "0.1"}),
    "first-state": Form("first state mixed in", {"keep": "0.8", "first": "0.2", "add": "1"}),
    "lists": Form("lists of gains", {"keep": "1", "add": "1"}),
    "matrix": Form("typed", {"matrix": "0.9,0.1;0.1,0.9", **_STREAMS}),
    "free": Form("unconstrained", _DRAWN),
    "row-stochastic": Form("row-stochastic", _DRAWN),
    "doubly-stochastic": Form("doubly stochastic", _DRAWN),
}
_PARAMETERS = tuple(dict.fromkeys(name for form in FORMS.values() for name in form.defaults))


class WiringOf(BaseModel):
    """A wiring of blocks, by its form."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    form: str = Field("constant", description=f"One of {', '.join(FORMS)}.", examples=["doubly-stochastic"])
    layers: int | None = Field(None, description=f"Layers of a network: {', '.join(map(str, LAYERS))}; 56 by default.")
    blocks: int | None = Field(None, ge=1, le=limits.MOST_BLOCKS, description="Blocks of a plain stack, instead.")
    keep: str | None = Field(
        None, description="a: what is kept of the state; for lists one per block, the last goes on."
    )
    add: str | None = Field(None, description="b: what is added of the branch; for lists one per block.")
    power: str | None = Field(None, description="For scaled: p in add / n^p, n the number of the block, from 1.")
    first: str | None = Field(None, description="For first-state: what is added of the first state.")
    matrix: str | None = Field(None, description="For matrix: rows, with ; between them.", examples=["1/2,1/2;0,1"])
    streams: str | None = Field(None, description=f"For what is drawn: 1 to {MOST_STREAMS} streams.")
    spread: str | None = Field(
        None, description="For what is drawn: how far from the identity; free 0 to 10, others 0 to 1."
    )
    seed: str | None = Field(None, description="For what is drawn: which draw.")
    write: str | None = Field(None, description="b: all, turns (one stream after the other), or a number per stream.")
    read: str | None = Field(None, description="c: turns, mean, or a number per stream.")

    def given(self) -> dict[str, str]:
        """All parameters of the form, as they were written or by default."""
        if self.form not in FORMS:
            raise BadParameter("form", f"form is {self.form[:40]!r}; expected one of {', '.join(FORMS)}")
        defaults = FORMS[self.form].defaults
        for name in _PARAMETERS:
            if getattr(self, name) is not None and name not in defaults:
                raise BadParameter(name, f"{name} is given for {self.form}; expected {', '.join(defaults)}")
        return {name: value if (value := getattr(self, name)) is not None else defaults[name] for name in defaults}

    def counts(self) -> tuple[int, ...]:
        """Blocks of every stage: three for a network, one for a plain stack."""
        if self.blocks is not None:
            if self.layers is not None:
                raise BadParameter("blocks", "layers and blocks are given; expected one of them")
            return (self.blocks,)
        layers = 56 if self.layers is None else self.layers
        if layers not in LAYERS:
            raise BadParameter("layers", f"layers is {layers}; expected one of {', '.join(map(str, LAYERS))}")
        return blocks_of(layers)

    def wiring(self) -> Wiring:
        """The wiring, with projections of their own for all streams where a stage begins, as the networks have them."""
        counts, given = self.counts(), self.given()
        build = _BUILDERS.get(self.form, partial(_drawn, self.form))
        steps, read = build(given, sum(counts))
        stages = tuple(Stage(str(i + 1), n, "each" if i else "none") for i, n in enumerate(counts))
        return Wiring(tuple(steps), read, (_ONE,) * len(read), stages)


Vector = tuple[Number, ...]
Parts = tuple[list[Step], Vector]
"""What every block keeps, writes and reads, and what the head reads."""

_ZERO, _ONE = Fraction(0), Fraction(1)


def _one_stream(keep: list[Number], add: list[Number]) -> Parts:
    return [Step(((a,),), (b,), (_ONE,)) for a, b in zip(keep, add)], (_ONE,)


def _constant(given: dict[str, str], blocks: int) -> Parts:
    return _one_stream([_number(given, "keep")] * blocks, [_number(given, "add")] * blocks)


def _scaled(given: dict[str, str], blocks: int) -> Parts:
    add, power = float(_number(given, "add")), float(_number(given, "power"))
    if not 0 <= power <= 10:
        raise BadParameter("power", f"power is {given['power']}; expected a number from 0 to 10")
    return _one_stream([_ONE] * blocks, [add * (n + 1) ** -power for n in range(blocks)])


def _small(given: dict[str, str], blocks: int) -> Parts:
    return _one_stream([_ONE] * blocks, [_number(given, "add")] * blocks)


def _first_state(given: dict[str, str], blocks: int) -> Parts:
    keep, first, add = (_number(given, name) for name in ("keep", "first", "add"))
    reads = (_ONE, _ZERO)
    return [Step(((keep, first), (_ZERO, _ONE)), (add, _ZERO), reads)] * blocks, reads


def _lists(given: dict[str, str], blocks: int) -> Parts:
    return _one_stream(_continued(given, "keep", blocks), _continued(given, "add", blocks))


def _matrix(given: dict[str, str], blocks: int) -> Parts:
    rows = tuple(tuple(_numbers(row, "matrix", limits.MOST_BLOCKS)) for row in given["matrix"].split(";"))
    m = len(rows)
    if m > MOST_STREAMS or any(len(row) != m for row in rows):
        lengths = ", ".join(str(len(row)) for row in rows[:12])
        raise BadParameter("matrix", f"matrix has {m} rows, of {lengths} numbers; expected as many columns as rows, at "
                                     f"most {MOST_STREAMS}, such as 1/2,1/2;0,1")  # fmt: skip
    return _mixed([rows] * blocks, given, m)


def _drawn(constraint: str, given: dict[str, str], blocks: int) -> Parts:
    m, seed = _whole(given, "streams", 1, MOST_STREAMS), _whole(given, "seed", 0, _MOST_SEED)
    spread = _number(given, "spread")
    drawn = checked("spread", lambda: draw_mixing(constraint, m, blocks, float(spread), seed))
    return _mixed([tuple(map(tuple, A)) for A in drawn.tolist()], given, m)


_BUILDERS = {
    "constant": _constant,
    "scaled": _scaled,
    "small": _small,
    "first-state": _first_state,
    "lists": _lists,
    "matrix": _matrix,
}


def _mixed(matrices: list[tuple[Vector, ...]], given: dict[str, str], m: int) -> Parts:
    """Streams that are mixed; the head reads their mean."""
    mean: Vector = (Fraction(1, m),) * m
    turns: list[Vector] = [tuple(_ONE if i == n else _ZERO for i in range(m)) for n in range(m)]
    writes = _ends(given, "write", m, {"all": [(_ONE,) * m], "turns": turns})
    reads = _ends(given, "read", m, {"turns": turns, "mean": [mean]})
    return [Step(A, writes[n % len(writes)], reads[n % len(reads)]) for n, A in enumerate(matrices)], mean


def _ends(given: dict[str, str], name: str, m: int, words: dict[str, list[Vector]]) -> list[Vector]:
    """What blocks write to or read, block after block and then again: by a word, or the same weights for all."""
    text = given[name]
    if text in words:
        return words[text]
    if text.strip().isalpha() or len(text.split(",")) != m:
        raise BadParameter(name, f"{name} is {text[:40]!r}; expected {', '.join(words)}, or {m} numbers with commas")
    return [tuple(_numbers(text, name, m))]


def _continued(given: dict[str, str], name: str, blocks: int) -> list[Number]:
    """A list with one number per block; the last one goes on."""
    read = _numbers(given[name], name, blocks)
    if not read:
        raise BadParameter(name, f"{name} is empty; expected up to {blocks} numbers, one per block; the last goes on")
    return read + read[-1:] * (blocks - len(read))


def _numbers(text: str, name: str, most: int) -> list[Number]:
    parts = numbers_in(text, name, most)
    return [checked(name, partial(number, part, f"{name}[{i}]")) for i, part in enumerate(parts)]


def _number(given: dict[str, str], name: str) -> Number:
    read = _numbers(given[name], name, limits.MOST_STEPS)
    if len(read) != 1:
        raise BadParameter(name, f"{name} has {len(read)} numbers; expected one")
    return read[0]


def _whole(given: dict[str, str], name: str, least: int, most: int) -> int:
    text = given[name].strip()
    if not (text.isascii() and text.isdigit() and len(text) < 12 and least <= int(text) <= most):
        raise BadParameter(name, f"{name} is {text[:40]!r}; expected a whole number from {least} to {most}")
    return int(text)
