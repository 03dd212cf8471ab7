"""A network as a value: everything but its weights, into JSON and back."""

import reprlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from typing import Any

from zerosnet.errors import InputError
from zerosnet.files import is_whole
from zerosnet.models.stepping.history import BlockPlan, plan
from zerosnet.models.stepping.laws import LambdaLaw, Law, LmLaw, StableLambdaLaw, StableRootsLaw
from zerosnet.models.stepping.mixing_laws import GainsLaw, SimplexLaw
from zerosnet.models.stepping.stack import Coefficients, FixedCoefficients, TrainedCoefficients
from zerosnet.models.stepping.streams import StreamCoefficients, StreamsLaw
from zerosnet.models.structure import Structure
from zerosnet.numerics import Number, Scheme, find_stage_change, number

LAWS: dict[str, type[Any]] = {
    "lambda": LambdaLaw,
    "lm": LmLaw,
    "stable-roots": StableRootsLaw,
    "stable-lambda": StableLambdaLaw,
    "simplex": SimplexLaw,
    "gains": GainsLaw,
    "streams": StreamsLaw,
}


@dataclass(frozen=True)
class Config:
    """The value that a `Network` is built from."""

    structure: Structure
    law: Law | StreamsLaw | None = None
    """How coefficients are trained; None if they are fixed."""
    schemes: tuple[Scheme, ...] = ()
    """One per replica: the fixed schemes, or the start of training (none: the law's own start)."""
    shared: bool = False
    """All blocks of a replica train the same numbers."""
    stage_change: str = "project-each"
    num_classes: int = 10
    in_chans: int = 3
    replicas: int = 1
    name: str = ""
    block_schemes: tuple[tuple[Scheme, ...], ...] = ()
    """One list per replica, in place of `schemes`: a scheme per multistep block, or per block, start-up included."""
    beta_growth: tuple[Number, ...] = ()
    """One number R per replica: the betas of multistep block n = 0, 1, ... are multiplied by R^n."""
    init_growth: tuple[Number, ...] = ()
    """One number R per replica: the last convolution of f in multistep block n starts with weights times R^n."""
    laws: tuple[StreamsLaw, ...] = ()
    """One law per replica, of one shape, if networks of streams that are mixed differently are replicas of one."""

    def __post_init__(self) -> None:
        find_stage_change(self.stage_change)
        for argument, least in (("num_classes", 0), ("in_chans", 1), ("replicas", 1)):
            check_integer(argument, getattr(self, argument), least)
        for argument, kind in (("shared", bool), ("name", str)):
            if not isinstance(getattr(self, argument), kind):
                raise InputError(f"{argument} is {getattr(self, argument)!r}; expected {kind.__name__}")
        self._check_counts()
        given = dict.fromkeys(scheme for schemes in (self.schemes, *self.block_schemes) for scheme in schemes)
        # not padded with zeros: that would change the start-up, or add projections that the single network has not
        if len({(len(scheme.alphas), len(scheme.betas)) for scheme in given}) > 1:
            found = ", ".join(f'"{scheme}"' for scheme in given)
            raise InputError(f"schemes of one network are {found}; expected as many alphas and as many betas in each")
        self._check_room()
        self._check_block_schemes()

    def _check_counts(self) -> None:
        """Check that every list has one entry per replica, and that lists which exclude one another do."""
        if self.block_schemes and (self.schemes or self.law or self.beta_growth):
            raise InputError("block_schemes is given with a scheme, trained coefficients or beta_growth; expected one")
        if self.beta_growth and self.law:
            raise InputError("beta_growth is given with trained coefficients; expected a fixed scheme")
        for argument in ("block_schemes", "beta_growth", "init_growth"):
            if getattr(self, argument) and len(getattr(self, argument)) != self.replicas:
                found = len(getattr(self, argument))
                raise InputError(f"{argument} has {found} entries for {self.replicas} replicas; expected one each")
        if len(self.schemes) != self.replicas and not ((self.law or self.block_schemes) and not self.schemes):
            raise InputError(f"{len(self.schemes)} schemes for {self.replicas} replicas; expected one per replica")
        if not all(self.block_schemes):
            raise InputError("block_schemes holds an empty list; expected one scheme per block")
        for argument in ("beta_growth", "init_growth"):
            for growth in getattr(self, argument):
                if growth <= 0:
                    raise InputError(f"{argument} is {growth}; expected a positive number")
        if isinstance(self.law, StreamsLaw) and (self.schemes or self.shared or self.stage_change != "project-each"):
            raise InputError("start, shared or stage_change is given for a network of streams; leave it out")
        shapes = {law.shape if isinstance(law, StreamsLaw) else None for law in (*self.laws, self.law)}
        if self.laws and (len(self.laws) != self.replicas or len(shapes) > 1 or None in shapes):
            raise InputError(
                f"laws is {_brief(self.laws)}; expected a law of streams per replica, all of one shape, that of law"
            )
        if self.init_growth and not self.structure.normalised:
            raise InputError("init_growth is given for a network whose last convolutions start at 0; leave it out")

    def _check_room(self) -> None:
        """Refuse a scheme that looks further back than any block can: all blocks would be start-up."""
        blocks, keeps_history = self.structure.blocks, find_stage_change(self.stage_change).keeps_history
        steps, room = max(self.terms), sum(blocks) if keeps_history else max(blocks)
        if steps > room:
            raise InputError(
                f"the scheme has {steps} steps, but no more than {room} blocks of {self.name or 'this network'} follow "
                f"one another with stage_change {self.stage_change!r}; expected at most {room} steps, or more layers"
            )

    def _check_block_schemes(self) -> None:
        """Check how many schemes there are, and that start-up blocks use no state that does not exist."""
        if not self.block_schemes:
            return
        total, stages = sum(self.structure.blocks), len(self.structure.blocks)
        fewest = total - stages * (max(self.terms) - 1)
        if not fewest <= len(self.block_schemes[0]) <= total:  # before a plan is made: files may claim any number
            raise InputError(f"block_schemes has {len(self.block_schemes[0])} schemes; the network has {total} blocks")
        plans = self.plans()
        multistep = sum(block.multistep for block in plans)
        for schemes in self.block_schemes:
            if len(schemes) != len(self.block_schemes[0]) or len(schemes) not in (multistep, len(plans)):
                raise InputError(
                    f"block_schemes has {len(schemes)} schemes; expected {multistep}, one per multistep block, "
                    f"or {len(plans)}, one per block, start-up blocks included"
                )
            if len(schemes) < len(plans):
                continue
            for block, scheme in zip(plans, schemes):
                states, slopes = block.summable
                if not block.multistep and any((*scheme.alphas[states:], *scheme.betas[slopes:])):
                    raise InputError(
                        f"block_schemes[{block.index}] is {scheme}, but block {block.index} has {states} state(s) and "
                        f"{slopes} slope(s) to sum; expected 0 for the others"
                    )

    @property
    def terms(self) -> tuple[int, int]:
        """Count the alphas and betas that the scheme of every block has."""
        if self.law:
            return self.law.steps, 1
        first = self.block_schemes[0][0] if self.block_schemes else self.schemes[0]
        return len(first.alphas), len(first.betas)

    def plans(self) -> tuple[BlockPlan, ...]:
        return plan(self.structure, *self.terms, self.stage_change)

    def fixed_schemes(self) -> tuple[tuple[Scheme, ...], ...]:
        """List the fixed schemes per replica: one per multistep block, or per block if `block_schemes` has as many."""
        if self.block_schemes:
            return self.block_schemes
        multistep = sum(block.multistep for block in self.plans())
        growths = self.beta_growth or (None,) * self.replicas
        return tuple(_grown(scheme, growth, multistep) for scheme, growth in zip(self.schemes, growths))

    def coefficients(self, plans: tuple[BlockPlan, ...]) -> Coefficients:
        if self.law is None:
            return FixedCoefficients(self.fixed_schemes(), plans)
        if isinstance(self.law, StreamsLaw):
            return StreamCoefficients(self.laws or (self.law,) * self.replicas, len(plans))
        slots = sum(block.multistep for block in plans)
        return TrainedCoefficients(self.law, slots, shared=self.shared, starts=self.schemes, replicas=self.replicas)

    def initial_gains(self, plans: tuple[BlockPlan, ...]) -> list[tuple[float, ...]]:
        """List, per block, the factor of the initial weights of f's last convolution: one number per replica.

        They are 1 in start-up blocks, and R^n in multistep block n = 0, 1, ... if `init_growth` is R.
        """
        powers, gains = iter(range(len(plans))), []
        for block in plans:
            n = next(powers) if block.multistep else 0
            gains.append(tuple(_power(growth, n) for growth in self.init_growth))
        return gains

    # -- replicas ------------------------------------------------------------------------------------------------------

    def of_replica(self, k: int) -> "Config":
        """The single network that replica k is."""
        own = slice(k, k + 1)
        lists = {name: getattr(self, name)[own] for name in ("schemes", "block_schemes", "beta_growth", "init_growth")}
        return replace(self, replicas=1, law=self.laws[k] if self.laws else self.law, laws=(), **lists)

    @property
    def fusion_key(self) -> tuple[object, ...]:
        """Equal for configs that `fuse` can put side by side; their schemes, or the mixing of streams, may differ."""
        law = self.law.shape if isinstance(self.law, StreamsLaw) else self.law
        return (
            *(self.structure, law, self.shared, self.stage_change, self.num_classes, self.in_chans, self.terms),
            bool(self.law and self.schemes),
        )

    # -- JSON ----------------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Write a JSON-ready object; fields that came later are there only if they are used."""
        data = {
            **{name: getattr(self, name) for name in ("shared", "stage_change", "num_classes", "in_chans", "replicas")},
            "name": self.name,
            "structure": self.structure.to_json(),
            "law": None if self.law is None else _law_to_json(self.law),
            "schemes": [scheme.to_json() for scheme in self.schemes],
        }
        if self.block_schemes:
            data["block_schemes"] = [[scheme.to_json() for scheme in schemes] for schemes in self.block_schemes]
        if self.laws:
            data["laws"] = [_law_to_json(law) for law in self.laws]
        for name in ("beta_growth", "init_growth"):
            if getattr(self, name):
                data[name] = [str(r) if isinstance(r, Fraction) else r for r in getattr(self, name)]
        return data

    @classmethod
    def from_json(cls, data: Any) -> "Config":
        """Read what `to_json` wrote.

        Raises:
            InputError: A field is missing, unknown or has no valid value; the message names it.
        """
        if not isinstance(data, dict):
            raise InputError(f"config is {_brief(data)}; expected an object")
        for name in ("structure", "law", "schemes"):
            if name not in data:
                raise InputError(f"config has no field {name!r}")
        known = [field.name for field in fields(cls)]
        for name in data:
            if name not in known:
                raise InputError(f"config has an unknown field {_brief(name)}; expected {', '.join(known)}")
        return cls(**{name: _read_field(name, value) for name, value in data.items()})


def _read_field(name: str, value: Any) -> Any:
    try:
        return _READERS[name](value) if name in _READERS else value
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"{name} is {_brief(value)}: {error}") from None


def _law_to_json(law: Law | StreamsLaw) -> dict[str, Any]:
    kind = next(name for name, cls in LAWS.items() if isinstance(law, cls))
    return {"kind": kind, **asdict(law)}  # type: ignore[arg-type]


def _read_law(data: Any) -> Law | StreamsLaw | None:
    if data is None:
        return None
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str) or data["kind"] not in LAWS:
        raise InputError(f"expected null, or an object whose kind is one of {', '.join(LAWS)}")
    law: Law | StreamsLaw = LAWS[data["kind"]](**{name: value for name, value in data.items() if name != "kind"})
    return law


def _read_schemes(data: Any) -> tuple[Scheme, ...]:
    if not isinstance(data, list):
        raise InputError("expected a list of schemes")
    return tuple(Scheme.from_json(scheme) for scheme in data)


_READERS: dict[str, Callable[[Any], Any]] = {
    "structure": Structure.from_json,
    "law": _read_law,
    "laws": lambda laws: tuple(_read_law(law) for law in laws),
    "schemes": _read_schemes,
    "block_schemes": lambda lists: tuple(_read_schemes(schemes) for schemes in lists),
    "beta_growth": lambda growths: tuple(number(growth, "beta_growth") for growth in growths),
    "init_growth": lambda growths: tuple(number(growth, "init_growth") for growth in growths),
}


def _brief(value: Any) -> str:
    return reprlib.repr(value)


def _grown(scheme: Scheme, growth: Number | None, blocks: int) -> tuple[Scheme, ...]:
    """The scheme of every multistep block, betas multiplied by growth^n."""
    if growth is None:
        return (scheme,) * blocks
    try:
        return tuple(Scheme(scheme.alphas, [beta * growth**n for beta in scheme.betas]) for n in range(blocks))
    except (InputError, OverflowError):
        raise InputError(
            f"beta_growth is {growth}; its powers up to {blocks - 1} are too large, or have too many digits, for a beta"
        ) from None


def _power(growth: Number, n: int) -> float:
    """Return growth^n, which initial weights in float32 are multiplied by."""
    try:
        power = float(growth**n)
    except OverflowError:
        power = float("inf")
    if not 1e-30 < power < 1e30:
        raise InputError(f"init_growth is {growth}; its power {n} is too large or too small for initial weights")
    return power


def check_integer(argument: str, value: Any, least: int) -> None:
    if not is_whole(value) or value < least:
        raise InputError(f"{argument} is {value!r}; expected an integer of at least {least}")
