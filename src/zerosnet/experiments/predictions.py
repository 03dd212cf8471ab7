"""Predictions on record: written down with date and commit before a training, and never edited."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zerosnet.environment import git_state
from zerosnet.errors import InputError

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
    made = {"date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), "git": git_state()}
    added = []
    for one in predictions:
        if _key(one) in seen:
            raise InputError(f"{path} has a prediction for {one['scheme']} already; predictions are never edited")
        seen.add(_key(one))
        added.append({**made, **one})
    text = json.dumps({"predictions": [*known, *added]}, indent=1, allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
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


def _key(prediction: Mapping[str, Any]) -> str:
    return json.dumps([prediction.get(name) for name in KEY])
