"""Settings of adversarial training, as a value; the trainer makes the examples."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from zerosnet.errors import InputError
from zerosnet.files import is_number, is_whole

KINDS = ("surrogate", "white-box")

_MOST_STEPS = 1_000_000


@dataclass(frozen=True)
class Adversarial:
    """L-infinity examples for training: `steps` sign steps of size `step`, for pixels in [0, 1].

    kind           "white-box": made on the network that is trained; "surrogate": on a frozen, normally trained one
    project        keep the examples within `eps` of the image
    random_start   start at a random point of that ball
    clean_step     before each step on adversarial examples, one on the clean images of the same batch
    surrogate      the model, and the seed it was trained with, on which "surrogate" examples are made
    """

    kind: str
    eps: float
    step: float
    steps: int
    project: bool = True
    random_start: bool = True
    clean_step: bool = False
    surrogate: str | None = None
    surrogate_seed: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"adversarial kind is {self.kind!r}; expected one of {', '.join(KINDS)}")
        for name in ("eps", "step"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value <= 1:
                raise InputError(f"adversarial {name} is {value!r}; expected a number from 0 to 1")
        if not is_whole(self.steps) or not 1 <= self.steps <= _MOST_STEPS:
            raise InputError(f"adversarial steps is {self.steps!r}; expected 1 or more, at most {_MOST_STEPS:,}")
        for name in ("project", "random_start", "clean_step"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise InputError(f"adversarial {name} is {value!r}; expected true or false")
        seed = self.surrogate_seed
        if seed is not None and (not is_whole(seed) or seed < 0):
            raise InputError(f"adversarial surrogate_seed is {seed!r}; expected a whole number from 0 on")
        if self.surrogate is not None and not isinstance(self.surrogate, str):
            raise InputError(f"adversarial surrogate is {self.surrogate!r}; expected a model's name")
        given = {self.surrogate is not None, self.surrogate_seed is not None}
        if given != {self.kind == "surrogate"}:
            raise InputError("adversarial surrogate and surrogate_seed are given if and only if kind is 'surrogate'")

    def describe(self) -> str:
        """Describe all settings; sizes are in steps of 8-bit pixels."""
        source = "white-box" if self.surrogate is None else f"made on {self.surrogate} with seed {self.surrogate_seed}"
        words = [
            f"adversarial examples {source}: {self.steps} steps of {self.step * 255:g}/255",
            ("kept within" if self.project else "not kept within") + f" eps {self.eps * 255:g}/255",
            "random start" if self.random_start else "no random start",
            "a clean step before each" if self.clean_step else "no clean steps",
        ]
        return ", ".join(words)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> "Adversarial":
        accepted = [f.name for f in fields(cls)]
        if not isinstance(data, dict) or not {"kind", "eps", "step", "steps"} <= set(data) <= set(accepted):
            raise InputError(f"adversarial is {data!r}; expected an object with {', '.join(accepted)}")
        return cls(**data)
