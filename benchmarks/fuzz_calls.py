"""Calls in Python that the fuzzer makes: public functions with arguments that may be anything."""

import random
from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks import fuzz_draws as draws

Call = tuple[Callable[[], Any], Any]


def draw_call(rng: random.Random) -> tuple[str, Callable[[], Any], Any]:
    """Draw a function's name, a call of it, and the arguments, to be shown."""
    name = rng.choice(sorted(_CALLS))
    return name, *_CALLS[name](rng)


def _call(module: str, function: str, *drawers: Callable[[random.Random], Any]) -> Callable[[random.Random], Call]:
    def make(rng: random.Random) -> Call:
        arguments = [draw(rng) for draw in drawers]
        return lambda: getattr(import_module(module), function)(*arguments), arguments

    return make


def _parsed(module: str, function: str) -> Callable[[random.Random], Call]:
    def make(rng: random.Random) -> Call:
        text = draws.scheme(rng, 0.1)
        numerics = import_module("zerosnet.numerics")
        return lambda: getattr(import_module(module), function)(numerics.Scheme.parse(text)), [text]

    return make


def _numbers(rng: random.Random) -> list[Any]:
    return [rng.choice((draws.number(rng), draws.value(rng))) for _ in range(rng.choice((1, 2, 3, 16)))]


def _rows(rng: random.Random) -> Any:
    floats = [[rng.uniform(-2, 2) for _ in range(rng.randint(1, 8))]]
    return rng.choice((floats, draws.value(rng), [[10.0 ** rng.randint(-300, 300) for _ in range(3)]]))


_NUMERICS, _TRAINING, _MODELS, _DATA = (f"zerosnet.{room}" for room in ("numerics", "training", "models", "data"))
_CALLS: dict[str, Callable[[random.Random], Call]] = {
    "Scheme": _call(_NUMERICS, "Scheme", _numbers, _numbers),
    "classify": _call(_NUMERICS, "classify", _rows),
    "zerosnet": _call(_NUMERICS, "zerosnet", draws.number),
    "lm": _call(_NUMERICS, "lm", draws.number),
    "from_roots": _call(_NUMERICS, "from_roots", _numbers),
    "number": _call(_NUMERICS, "number", draws.value),
    "root_condition": _parsed(_NUMERICS, "root_condition"),
    "order": _parsed(_NUMERICS, "order"),
    "forecast": _parsed(_NUMERICS, "forecast"),
    "RunSpec.from_json": lambda rng: _from_json(_TRAINING, "RunSpec", draws.spec(rng)),
    "Recipe.from_json": lambda rng: _from_json(_TRAINING, "Recipe", draws.value(rng)),
    "Result.from_json": lambda rng: _from_json(
        _TRAINING, "Result", {"status": "finished", "epochs": 1, "seconds": 1, draws.text(rng): draws.value(rng)}
    ),
    "Config.from_json": lambda rng: _from_json(_MODELS, "Config", draws.value(rng)),
    "expand": _call(_TRAINING, "expand", draws.value),
    "recipe": _call(_TRAINING, "recipe", draws.text, draws.text),
    "create_model": _call(_MODELS, "create_model", draws.text),
    "load_model": _call(_MODELS, "load_model", lambda rng: rng.choice(draws.PATHS)),
    "from_pretrained": _call(_MODELS, "from_pretrained", lambda rng: rng.choice(("images", ".", "store", "run"))),
    "load": _call(_DATA, "load", draws.text, lambda rng: rng.choice(draws.PATHS)),
    "image_size": _call(_DATA, "image_size", draws.text),
}


def _from_json(module: str, name: str, data: Any) -> Call:
    return lambda: getattr(import_module(module), name).from_json(data), data
