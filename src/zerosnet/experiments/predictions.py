"""Predictions on record: written down with date and commit before a training, and never edited."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zerosnet.environment import environment, today
from zerosnet.errors import InputError
from zerosnet.files import write_json
from zerosnet.models import Config, Network, configure, wiring_of_network
from zerosnet.numerics import LM_NETWORK_BETA, Scheme, Wiring, lm
from zerosnet.training import RunSpec

_LM_START = "-1/20"
KEY = ("scheme", "layers", "dataset", "stage_change", "beta_growth")


def register_predictions(file: str | Path, predictions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Append predictions to a file of them, and return what was added.

    Args:
        file: A JSON file; it is made if it is missing.
        predictions: What `Forecast.to_json` gives.

    Raises:
        InputError: The file holds something else, or one of the networks already: predictions are never edited.
    """
    path = Path(file)
    known = read_predictions(path) if path.exists() else []
    seen = {_key(one) for one in known}
    here = environment()
    made = {"date": today(), **{name: here[name] for name in ("git", "source", "zerosnet", "python", "packages")}}
    added = []
    for one in predictions:
        if _key(one) in seen:
            raise InputError(f"{path} has a prediction for {one['scheme']} already; predictions are never edited")
        seen.add(_key(one))
        added.append({**made, **one})
    write_json(path, {"predictions": [*known, *added]})
    return added


def read_predictions(path: Path) -> list[dict[str, Any]]:
    """Read a file of predictions."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as predictions: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("predictions"), list):
        raise InputError(f"{path} holds no list of predictions; expected a file that predict --register has written")
    return list(data["predictions"])


def wiring_of_run(spec: RunSpec, *, at_start: bool = False) -> Wiring | None:
    """Build the wiring of a run's network, for the accuracy law.

    With `at_start` trained coefficients stand for their start values. Otherwise it is None for networks that the law
    was not made for: trained coefficients, bottlenecks, ImageNet's size, no normalisation. LM-ResNet, which trains its
    k, stands for the mean of its start values. With `init_growth` it is the wiring at initialisation, where a growing
    weight and a growing beta are the same function.
    """
    options: dict[str, Any] = {} if spec.stage_change is None else {"stage_change": spec.stage_change}
    config = configure(
        spec.model,
        scheme=spec.scheme,
        block_schemes=spec.block_schemes,
        beta_growth=spec.beta_growth,
        init_growth=spec.init_growth,
        **options,
    )
    schemes = _fixed_schemes(config)
    structure = config.structure
    if not structure.normalised or (structure.size, structure.block) != ("cifar", "basic"):
        return None
    if schemes is None:
        return wiring_of_network(Network(config, [spec.seed])) if at_start else None
    if config.init_growth:
        schemes = _initially(config, schemes)
    return Wiring.per_block(schemes, config.structure.blocks, config.stage_change)


def _fixed_schemes(config: Config) -> tuple[Scheme, ...] | None:
    if config.law is None:
        return config.fixed_schemes()[0]
    if not config.name.startswith("lmresnet"):
        return None
    multistep = sum(block.multistep for block in config.plans())
    return (lm(_LM_START, LM_NETWORK_BETA),) * multistep


def _initially(config: Config, schemes: tuple[Scheme, ...]) -> tuple[Scheme, ...]:
    """Multiply the betas by the factors of the initial weights."""
    plans = config.plans()
    gains = config.initial_gains(plans)
    slots = [block.index for block in plans if block.multistep or len(schemes) == len(plans)]
    factors = (gains[index][0] for index in slots)
    return tuple(Scheme(s.alphas, [float(beta) * factor for beta in s.betas]) for s, factor in zip(schemes, factors))


def _key(prediction: Mapping[str, Any]) -> str:
    return json.dumps([prediction.get(name) for name in KEY])
