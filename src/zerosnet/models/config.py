"""A network as a value: everything but its weights, into JSON and back."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from zerosnet.errors import InputError
from zerosnet.models.stepping.block_plan import BlockPlan, find_stage_change, plan
from zerosnet.models.stepping.coefficients import Coefficients, FixedCoefficients, TrainedCoefficients
from zerosnet.models.stepping.laws import LambdaLaw, Law, LmLaw, StableLambdaLaw, StableRootsLaw
from zerosnet.models.structure import Structure
from zerosnet.numerics import Scheme

LAWS: dict[str, type[Any]] = {
    "lambda": LambdaLaw,
    "lm": LmLaw,
    "stable-roots": StableRootsLaw,
    "stable-lambda": StableLambdaLaw,
}


@dataclass(frozen=True)
class Config:
    """What `Network` is built from."""

    structure: Structure
    law: Law | None = None
    """How coefficients are trained; None where they are fixed."""
    schemes: tuple[Scheme, ...] = ()
    """One a replica: the fixed schemes, or where training starts (none: where the law starts by itself)."""
    shared: bool = False
    """All blocks of a replica train the same numbers."""
    stage_change: str = "project-each"
    num_classes: int = 10
    in_chans: int = 3
    replicas: int = 1
    name: str = ""

    def __post_init__(self) -> None:
        find_stage_change(self.stage_change)
        for argument, least in (("num_classes", 0), ("in_chans", 1), ("replicas", 1)):
            check_integer(argument, getattr(self, argument), least)
        for argument, kind in (("shared", bool), ("name", str)):
            if not isinstance(getattr(self, argument), kind):
                raise InputError(f"{argument} is {getattr(self, argument)!r}; expected {kind.__name__}")
        if len(self.schemes) != self.replicas and not (self.law and not self.schemes):
            raise InputError(f"{len(self.schemes)} schemes given for {self.replicas} replicas; expected one a replica")
        # not padded with zeros: that would change the start-up, or add projections that the single network has not
        if len({(len(scheme.alphas), len(scheme.betas)) for scheme in self.schemes}) > 1:
            found = ", ".join(f'"{scheme}"' for scheme in dict.fromkeys(self.schemes))
            raise InputError(f"schemes of one network are {found}; expected as many alphas and as many betas in each")
        self._check_room()

    @property
    def terms(self) -> tuple[int, int]:
        """How many alphas and betas the scheme of every block has."""
        return (self.law.steps, 1) if self.law else (len(self.schemes[0].alphas), len(self.schemes[0].betas))

    def _check_room(self) -> None:
        """A scheme that looks further back than any block can would never be used: all blocks would be start-up."""
        blocks, keeps_history = self.structure.blocks, find_stage_change(self.stage_change).keeps_history
        steps, room = max(self.terms), sum(blocks) if keeps_history else max(blocks)
        if steps > room:
            raise InputError(
                f"the scheme has {steps} steps, but no more than {room} blocks of {self.name or 'this network'} follow "
                f"one another with stage_change {self.stage_change!r}; expected at most {room} steps, or more layers"
            )

    def plans(self) -> tuple[BlockPlan, ...]:
        return plan(self.structure, *self.terms, self.stage_change)

    def coefficients(self, slots: int) -> Coefficients:
        if self.law is None:
            return FixedCoefficients(self.schemes, slots)
        return TrainedCoefficients(self.law, slots, shared=self.shared, starts=self.schemes, replicas=self.replicas)

    def of_replica(self, k: int) -> "Config":
        """The single network that replica k is."""
        return replace(self, replicas=1, schemes=self.schemes[k : k + 1])

    def to_json(self) -> dict[str, Any]:
        law = None
        if self.law is not None:
            kind = next(name for name, cls in LAWS.items() if isinstance(self.law, cls))
            law = {"kind": kind, **asdict(self.law)}  # type: ignore[call-overload]
        return {
            **{name: getattr(self, name) for name in ("shared", "stage_change", "num_classes", "in_chans", "replicas")},
            "name": self.name,
            "structure": self.structure.to_json(),
            "law": law,
            "schemes": [scheme.to_json() for scheme in self.schemes],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Config":
        law = dict(data["law"]) if data["law"] else None
        return cls(
            **{
                **data,
                "structure": Structure.from_json(data["structure"]),
                "law": LAWS[law.pop("kind")](**law) if law else None,
                "schemes": tuple(Scheme.from_json(scheme) for scheme in data["schemes"]),
            }
        )


def check_integer(argument: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{argument} is {value!r}; expected an integer of at least {least}")
