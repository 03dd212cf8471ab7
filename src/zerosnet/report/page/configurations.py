"""Configurations (runs that differ by their seed only), panels of those that can be compared, and their facts."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from zerosnet.experiments import RunEvidence, Summary, known_wiring, parasitic_modulus, prediction_of_run, summarise
from zerosnet.numerics import PAPER_ROWS, Scheme, Wiring, name_of_schemes, root_condition
from zerosnet.report.page.chart import Series
from zerosnet.training import RunSpec

_MOST_NAMED = 12  # lines of a chart that can be told apart
# zero-stable lines are cool and whole, others warm and dashed; within each kind the marks differ too
_COOL, _WARM, _NEUTRAL = (0, 6, 2, 4), (1, 3, 7), (5, 4, 7)
_PAPER_NAMES = {row.scheme: row.label for row in PAPER_ROWS}
SIDES = {True: "zero-stable", False: "not zero-stable", None: "a scheme per block, or trained coefficients"}
_PARTS = {True: "the paper's schemes and named networks", False: "other schemes, by their coefficients"}


@dataclass(frozen=True)
class Configuration:
    """A spec without its seed, and its runs."""

    runs: tuple[RunEvidence, ...]

    @property
    def spec(self) -> RunSpec:
        return self.runs[0].record.spec

    @property
    def scheme(self) -> Scheme | None:
        return self.runs[0].scheme

    @property
    def zero_stable(self) -> bool | None:
        """The root condition's answer; None for trained coefficients, a scheme per block, or if it is undecided."""
        return None if self.scheme is None else is_stable(self.scheme)

    @property
    def stability_text(self) -> str:
        """A word for tables on zero stability: yes, no, trained or per block."""
        other = "trained" if self.spec.block_schemes is None else "per block"
        return {True: "yes", False: "no", None: other}[self.zero_stable]

    @property
    def full_name(self) -> str:
        """The name of its scheme, with its layers and what is unusual: unique among networks of one recipe."""
        name = self.name if self.scheme is None else self.scheme.short_name
        return ", ".join([name, _layers(self.spec), *_unusual(self.spec)])

    @property
    def name(self) -> str:
        """The name of the scheme, or of the model if the scheme is its own."""
        if self.spec.block_schemes is not None:
            return name_of_schemes(self.spec.block_schemes)
        return self.spec.model if self.spec.scheme is None else self.spec.scheme.short_name

    @property
    def has_name(self) -> bool:
        """True if it is one of the paper's schemes or a model with a scheme of its own."""
        return self.spec.scheme is None or self.spec.scheme in _PAPER_NAMES


@dataclass(frozen=True)
class Panel:
    """Configurations that share data set, recipe and depth."""

    title: str
    members: tuple[Configuration, ...]


@cache
def is_stable(scheme: Scheme) -> bool | None:
    return root_condition(scheme).zero_stable


def panels(runs: Iterable[RunEvidence]) -> list[Panel]:
    """The configurations of these runs, those that compare together, in a fixed order."""
    found: dict[str, dict[str, list[RunEvidence]]] = {}
    for run in runs:
        alike = found.setdefault(setting(run.record.spec), {})
        alike.setdefault(replace(run.record.spec, seed=0).canonical(), []).append(run)
    result = []
    for title, alike in sorted(found.items()):
        members = (Configuration(tuple(sorted(group, key=lambda r: r.record.spec.seed))) for group in alike.values())
        result.append(Panel(title, tuple(sorted(members, key=_rank))))
    return result


def legible(panels: Iterable[Panel]) -> list[Panel]:
    """Split panels with too many lines into two: schemes with a name, and those known by their coefficients."""
    result = []
    for panel in panels:
        split = {named: tuple(one for one in panel.members if one.has_name is named) for named in _PARTS}
        many = len(panel.members) > _MOST_NAMED and all(split.values())
        result += [Panel(f"{panel.title}: {_PARTS[k]}", part) for k, part in split.items()] if many else [panel]
    return result


def setting(spec: RunSpec) -> str:
    """Data set, depth and recipe, with what was changed in it: "cifar10, 56 layers, recipe paper (epochs 3)"."""
    changed = ", ".join(f"{key} {value}" for key, value in spec.changes.items())
    recipe = f"recipe {spec.recipe.name}" + (f" ({changed})" if changed else "")
    per_block = [] if spec.block_schemes is None else ["a scheme per block"]
    return ", ".join([spec.dataset, _layers(spec), recipe, *_unusual(spec), *per_block])


def _layers(spec: RunSpec) -> str:
    depth = re.search(r"\d+", spec.model)
    return f"{depth[0]} layers" if depth else spec.model


def _unusual(spec: RunSpec) -> list[str]:
    """Describe the options of a run that change its network or its arithmetic; most runs have none."""
    words = [] if spec.precision is None else [spec.precision]
    words += [] if spec.stage_change is None else [f"stage change {spec.stage_change}"]
    words += [] if spec.beta_growth is None else [f"beta growth {spec.beta_growth}"]
    words += [] if spec.init_growth is None else [f"initial growth {spec.init_growth}"]
    words += [] if spec.validation is None else [f"{spec.validation:g} held out"]
    return words


def as_series(panel: Panel, points: Sequence[Sequence[tuple[float, float]]]) -> list[Series]:
    """A line for every configuration of a panel that has points; beyond a dozen only the two kinds are named."""
    kept = [(one, line) for one, line in zip(panel.members, points) if line]
    many, seen, series = len(kept) > _MOST_NAMED, dict.fromkeys((True, False, None), 0), []
    for one, line in kept:
        kind, place = one.zero_stable, seen[one.zero_stable]
        seen[kind] += 1
        colours = {True: _COOL, False: _WARM, None: _NEUTRAL}[kind]
        word = SIDES[kind]
        series.append(
            Series(
                name=word if many else one.name,
                points=line,
                colour=colours[0 if many else place % len(colours)],
                mark=(0 if kind else 1) if many else place,
                dashed=kind is False,
                title=f"{one.name} ({word})",
                legend=not many or place == 0,
                group="" if many else word,
            )
        )
    return series


def _rank(one: Configuration) -> tuple[int, int, str, str]:
    schemes = list(_PAPER_NAMES)
    place = schemes.index(one.scheme) if one.scheme in _PAPER_NAMES else len(schemes)
    return (one.zero_stable is None, place, one.spec.model, str(one.scheme))


@dataclass(frozen=True)
class NetworkFacts:
    """A configuration with its numbers; accuracies in per cent.

    Attributes:
        best: Test accuracy at the best epoch; None if no run has ended.
        last: At the last epoch.
        shares: Share of every block at initialisation, from the coefficients; None for trained ones and other sizes.
        predicted: The accuracy law's answer, if it was calibrated for this network. Networks that it was fitted on are
            predicted by the law that is fitted to the others.
        used_depth: Mean over the runs whose blocks were switched off.
        modulus: The largest parasitic modulus of a block's scheme; None if no scheme is known.
    """

    configuration: Configuration
    best: Summary | None
    last: Summary | None
    shares: tuple[float, ...] | None
    effective_depth: float | None
    predicted: float | None
    used_depth: float | None
    modulus: float | None

    @property
    def scheme(self) -> Scheme | None:
        return self.configuration.scheme


def facts_of(one: Configuration) -> NetworkFacts:
    """Collect what is known about a configuration."""
    results = [run.record.result for run in one.runs if run.record.result is not None]
    best = [100 * found.best_test_accuracy for found in results if found.best_test_accuracy is not None]
    last = [100 * found.test_accuracy for found in results if found.test_accuracy is not None]
    used = [run.ablation.used_blocks for run in one.runs if run.ablation is not None]
    wiring, predicted = known_wiring(one.spec), prediction_of_run(one.spec)
    return NetworkFacts(
        one,
        summarise(best),
        summarise(last),
        None if wiring is None else tuple(wiring.shares().tolist()),
        None if wiring is None else wiring.effective_depth(),
        None if predicted is None else predicted.accuracy,
        sum(used) / len(used) if used else None,
        max(map(_modulus, {scheme.alphas: scheme for scheme in _schemes(one, wiring)}.values()), default=None),
    )


def _schemes(one: Configuration, wiring: Wiring | None) -> Sequence[Scheme]:
    """The scheme of a configuration, or those of its blocks."""
    if one.scheme is not None:
        return [one.scheme]
    return () if wiring is None or not wiring.alphas else wiring.schemes()


_modulus = cache(parasitic_modulus)


def all_facts(members: Iterable[Configuration]) -> list[NetworkFacts]:
    """The facts of several configurations, the most accurate first; those without a number last."""
    found = [facts_of(one) for one in members]
    return sorted(found, key=lambda one: -1.0 if one.best is None else one.best.mean, reverse=True)
