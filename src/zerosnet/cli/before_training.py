"""Checks and the first line of a command that trains, before torch is loaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zerosnet.cli.output import announce

if TYPE_CHECKING:
    from zerosnet.training import DataOptions, RunSpec


def begin(specs: "Sequence[RunSpec]", store: str, options: "DataOptions") -> None:
    """Refuse runs that cannot be, and tell what is about to be trained.

    Networks that do not exist, schemes that they do not take, and data without a folder are found here. A run that has
    ended needs no data.
    """
    from zerosnet.data import check_place
    from zerosnet.models import check_model
    from zerosnet.training import Store

    for spec in specs:
        check_model(spec.model, spec.scheme, block_schemes=spec.block_schemes is not None)
    there = Store(store)
    for spec in specs:
        if not (there.folder(spec) / "result.json").exists():
            check_place(spec.dataset, options.data)
    announce(f"{_runs(specs)}, kept in {Path(store)}; loading PyTorch ...")


def _runs(specs: "Sequence[RunSpec]") -> str:
    """Describe runs in a line: "6 runs of zerosnet20 on digits, recipe quick"."""
    models, datasets, recipes = (
        ", ".join(dict.fromkeys(names))
        for names in (
            (spec.model for spec in specs),
            (spec.dataset for spec in specs),
            (spec.recipe.name for spec in specs),
        )
    )
    return f"{len(specs)} run{'' if len(specs) == 1 else 's'} of {models} on {datasets}, recipe {recipes}"
