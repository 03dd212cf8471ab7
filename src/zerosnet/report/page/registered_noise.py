"""Predictions of accuracy under noise that were written down before training, beside what was measured."""

from collections.abc import Sequence

from zerosnet.experiments import NOISES, Evidence, RegisteredNoise, registered_errors, registered_noise, rounded_name
from zerosnet.report.page.html import Html, element
from zerosnet.report.page.tables import plain_table

NOISE = "Gaussian 0.04"


def registered_noise_section(evidence: Evidence) -> list[Html]:
    """The errors of all laws per noise, and every network under one of the noises; nothing if none was measured."""
    every = registered_noise(evidence)
    there = [one for one in every if one.measured is not None]
    if not there:
        return []
    errors = registered_errors(there, NOISE)
    line = (
        f"Under noise, {min(one.date for one in there)}: {len(there)} of {len(every)} runs measured. Errors under "
        f"{NOISE}: effective parameters {errors['parts']:.2f}; root condition {errors['root_condition']:.2f}; "
        f"a constant {errors['constant']:.2f}"
    )
    heads = ("noise", "effective parameters", "root condition", "a constant", "in the 90 % interval")
    laws = plain_table("Root mean square errors, points", heads, _laws(there), len(heads) - 1)
    runs_heads = ("run", "zero-stable", "clean %", "predicted %", "90 % interval", "measured %")
    runs = plain_table(f"{NOISE}, run by run", runs_heads, map(_line, there), len(runs_heads) - 2)
    return [element("details", element("summary", line), laws, runs, class_="folded long")]


def _laws(there: Sequence[RegisteredNoise]) -> list[list[object]]:
    rows: list[list[object]] = []
    for noise in NOISES:
        inside = sum(one.is_inside(noise) for one in there)
        errors = [f"{error:.1f}" for error in registered_errors(there, noise).values()]
        rows.append([noise, *errors, f"{inside} of {len(there)}"])
    return rows


def _line(one: RegisteredNoise) -> list[object]:
    assert one.measured is not None and one.clean is not None
    low, high = one.intervals[NOISE]
    numbers = [f"{one.clean:.1f}", f"{one.predicted[NOISE]['parts']:.1f}", f"{low:.1f} to {high:.1f}"]
    return [rounded_name(one.name), "yes" if one.zero_stable else "no", *numbers, f"{one.measured[NOISE]:.1f}"]
