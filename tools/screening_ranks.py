"""How well short trainings rank networks: rank correlations, rank errors, and the whole training stopped early."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tools.markdown_tables import table
from zerosnet.experiments import (
    Agreement,
    Correlation,
    Evidence,
    Screened,
    agreement,
    ranks_by_epoch,
    spearman,
)
from zerosnet.experiments.screening import WHOLE
from zerosnet.models import find_name
from zerosnet.numerics import Scheme, forecast, load_law
from zerosnet.training import RunSpec, recipe

LAYERS = 56
WORST = 5  # rank errors that are named
EPOCHS = (1, 4, 8, 12, 20, 40, 60, 80, 85, 120)
SHORT_EPOCHS = recipe("screen", "cifar10").epochs
ALIKE = 0.1  # correlations that differ by less are called alike
REWIRED = {
    "block_schemes": "a scheme per block",
    "beta_growth": "betas that grow or shrink",
    "init_growth": "initial weights that grow",
    "stage_change": "restart at changes of stage",
}


def left_out(found: Evidence) -> str:
    """Count the networks of the whole training that were not screened, and give the reasons."""
    specs = {replace(run.record.spec, seed=0) for run in found.sound.values() if _is_whole(run.record.spec)}
    rewired = [spec for spec in specs if spec.rewired]
    counts = {name: sum(getattr(spec, key) is not None for spec in rewired) for key, name in REWIRED.items()}
    changed = sum(bool(spec.changes) and not spec.rewired for spec in specs)
    parts = []
    if rewired:
        kinds = ", ".join(f"{name}: {count}" for name, count in counts.items() if count)
        parts.append(f"{len(rewired)} were not screened because they are not one scheme in all blocks ({kinds})")
    if changed:
        parts.append(f"{changed} {'' if rewired else 'were not screened '}because their recipe is changed")
    return f" Of the networks of {LAYERS} layers by recipe `{WHOLE}` {', and '.join(parts)}." if parts else ""


def _is_whole(spec: RunSpec) -> bool:
    return (spec.recipe.name, spec.dataset, find_name(spec.model)[1]) == (WHOLE, "cifar10", LAYERS)


def correlations(networks: Sequence[Screened]) -> str:
    """List rank correlations: of all networks, of those clear of the threshold of survival, and between seeds."""
    near = [one for one in networks if is_near(one.scheme)]
    clear = [one for one in networks if one not in near]
    known, twice = agreement(networks), [one for one in networks if one.short and len(one.whole) > 1]
    rows = {
        "screening (mean of seeds) with 160 epochs": known.both,
        "screening, first seed, with 160 epochs": known.one_seed,
        "the same, networks clear of the threshold of survival": agreement(clear).one_seed,
        "the same, networks near it": agreement(near).one_seed,
        "screening (mean of seeds) with 160 epochs, networks with two seeds of these": agreement(twice).both,
        "the same networks, one seed of screening with another of 160 epochs": _across(twice),
        "160 epochs, one seed with another": known.whole_seeds,
        "screening, one seed with another": known.short_seeds,
    }
    return table(["Ranks", "Correlation", "Networks"], [[name, *_cells(one)] for name, one in rows.items()])


def _across(networks: Sequence[Screened]) -> Correlation | None:
    """Correlate the first seed of the short training with the second of the whole one."""
    whole = [list(one.whole.values())[1] for one in networks]
    return spearman([one.short[min(one.short)] for one in networks], whole)


def is_near(scheme: Scheme | None) -> bool:
    """Check if much of a network starts near the threshold of survival; None is PreResNet."""
    return scheme is not None and load_law().is_near(forecast(scheme, LAYERS).wiring)


def is_clear(scheme: Scheme | None) -> bool:
    """Check if a network starts clear of the threshold of survival."""
    return not is_near(scheme)


def rank_errors(known: Agreement) -> str:
    """List the networks whose places differ most."""
    rows = []
    for error in known.errors[:WORST]:
        places = [f"{place:g}" for place in (error.short, error.whole)]
        rows.append([f"`{error.network.label}`", *places, f"{-error.points:+.2f}"])
    return table(["Network", "Screening", "160 epochs", "Better than the network of that place, points"], rows)


def reason(known: Agreement, networks: Sequence[Screened], found: Evidence) -> list[str]:
    """Explain the rank errors if all that are listed are near the threshold, and the whole training has them too."""
    if not all(is_near(error.network.scheme) for error in known.errors[:WORST]):
        return []
    sentence = f"All {WORST} start near the threshold of survival."
    screened = agreement([one for one in networks if is_near(one.scheme)]).one_seed
    near, clear = (ranks_by_epoch(found, [SHORT_EPOCHS], wanted=kind)[SHORT_EPOCHS] for kind in (is_near, is_clear))
    if screened and near and clear and near.rho < clear.rho - ALIKE and abs(near.rho - screened.rho) < ALIKE:
        sentence += (
            f" There the order is not yet decided after {SHORT_EPOCHS} epochs, whatever the schedule: the whole "
            "training still has its first learning rate then, and ranks these networks no better (next table)."
        )
    return [sentence]


def by_epoch(found: Evidence) -> str:
    """List how the whole training ranks if it is stopped early: all networks, and either side of the threshold."""
    kinds: dict[str, Callable[[Scheme | None], bool]] = {
        "all": lambda scheme: True,
        "clear of the threshold of survival": is_clear,
        "near it": is_near,
    }
    rows = []
    for name, wanted in kinds.items():
        ranks = ranks_by_epoch(found, EPOCHS, wanted=wanted)
        networks = max((one.n for one in ranks.values() if one is not None), default=0)
        if networks:
            rows.append([name, str(networks), *(_cells(one)[0] for one in ranks.values())])
    return table(["After so many epochs", "Networks", *map(str, EPOCHS)], rows)


def _cells(found: Correlation | None) -> tuple[str, str]:
    return ("", "") if found is None else (f"{found.rho:.2f}", str(found.n))
