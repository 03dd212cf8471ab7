"""Everything that is known about the networks of a configuration: predicted from its coefficients, and measured."""

from collections.abc import Iterable
from dataclasses import dataclass

from zerosnet.errors import InputError
from zerosnet.experiments import Summary, parasitic_modulus, summarise, wiring_of_run
from zerosnet.numerics import Scheme, Wiring, load_law
from zerosnet.report.page.configurations import Configuration
from zerosnet.training import RunSpec


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
    """

    one: Configuration
    best: Summary | None
    last: Summary | None
    shares: tuple[float, ...] | None
    effective_depth: float | None
    predicted: float | None
    used_depth: float | None
    modulus: float | None

    @property
    def scheme(self) -> Scheme | None:
        return self.one.scheme


def facts_of(one: Configuration) -> NetworkFacts:
    """Collect what is known about a configuration."""
    results = [run.record.result for run in one.runs if run.record.result is not None]
    best = [100 * found.best_test_accuracy for found in results if found.best_test_accuracy is not None]
    last = [100 * found.test_accuracy for found in results if found.test_accuracy is not None]
    used = [run.ablation.used_blocks for run in one.runs if run.ablation is not None]
    wiring = _wiring(one.spec)
    return NetworkFacts(
        one,
        summarise(best),
        summarise(last),
        None if wiring is None else tuple(wiring.shares().tolist()),
        None if wiring is None else wiring.effective_depth(),
        None if wiring is None else _predicted(one.spec, wiring),
        sum(used) / len(used) if used else None,
        None if one.scheme is None or not one.scheme.alphas else parasitic_modulus(one.scheme),
    )


def all_facts(members: Iterable[Configuration]) -> list[NetworkFacts]:
    """The facts of several configurations, the most accurate first; those without a number last."""
    found = [facts_of(one) for one in members]
    return sorted(found, key=lambda one: -1.0 if one.best is None else one.best.mean, reverse=True)


def _wiring(spec: RunSpec) -> Wiring | None:
    """The wiring of a run's network; None if it has none that the numerics know."""
    try:
        return wiring_of_run(spec)
    except InputError:
        return None


def _predicted(spec: RunSpec, wiring: Wiring) -> float | None:
    law = load_law()
    if (spec.dataset, spec.recipe.name) != (law.dataset, law.recipe) or spec.changes:
        return None
    known = None if spec.init_growth is not None else law.fitted(wiring)
    return law.predict(wiring, spec.dataset).accuracy if known is None else known.left_out
