"""A part of the fuzzer, in a process of its own: it forks, which a process with threads must not."""

import json
import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from benchmarks.fuzz import COUNTS, SCHEMES, _judged, _pieces, run
from benchmarks.fuzz_cases import KINDS, draw
from benchmarks.fuzz_numerics import _is_right, adversarial, roots

ROOT = Path(__file__).parents[2]
FEW = {
    "schemes": 20,
    "trainings": 6,
    "sweep files": 10,
    "damaged stores": 6,
    "images": 6,
    "other commands": 6,
    "Python calls": 60,
}
MANY = {kind: count // 5 for kind, count in COUNTS.items()}


def fuzzed(counts, schemes, seed):
    code = (
        "import json, sys; from benchmarks.fuzz import fuzz; from benchmarks.fuzz_numerics import compare;"
        "counts, schemes, seed = json.loads(sys.argv[1]);"
        "numbers = {kind: range(count) for kind, count in counts.items()};"
        "print(json.dumps([fuzz(numbers, seed), compare(0, schemes, seed)]))"
    )
    command = [sys.executable, "-c", code, json.dumps([counts, schemes, seed])]
    given = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=given)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("counts", "schemes", "seed"), [(FEW, 25, 1), pytest.param(MANY, 1500, 2, marks=pytest.mark.slow)]
)
def test_bad_input_never_ends_in_a_traceback_and_verdicts_are_right(counts, schemes, seed):
    found, numerics = fuzzed(counts, schemes, seed)
    assert found["failures"] == [] and numerics["wrong"] == []
    assert found["cases"] == sum(counts.values()) and numerics["schemes"] == schemes
    assert {kind: sum(outcomes.values()) for kind, outcomes in found["outcomes"].items()} == counts


def test_a_run_that_is_cut_goes_on_with_the_next_piece(monkeypatch):
    tried = []

    def one_case(kind, start, stop):
        tried.append((kind, start))
        verdicts = {"schemes": stop - start, "digits": 60, "verdicts": {"exact": {"right": stop - start}}, "wrong": []}
        outcomes = {"outcomes": {kind: {"refused": stop - start}}, "slowest_seconds": {kind: 0.1}, "failures": []}
        return verdicts if kind == "numerics" else {"cases": stop - start, **outcomes}

    monkeypatch.setattr("benchmarks.fuzz._try", one_case)
    monkeypatch.setenv("ZEROSNET_BENCHMARK_SECONDS", "0")
    (first,) = run("", {})
    assert len(first["left_out"]) == len(_pieces()) - 1
    monkeypatch.delenv("ZEROSNET_BENCHMARK_SECONDS")
    *_, last = run("", first)
    assert len(tried) == len(set(tried)) == len(_pieces())
    assert last["cases"] == sum(COUNTS.values()) and last["numerics"]["schemes"] == SCHEMES


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_is_a_function_of_seed_and_number(kind):
    assert [draw(kind, 1, n).text for n in range(30)] == [draw(kind, 1, n).text for n in range(30)]
    assert len({draw(kind, 1, n).text for n in range(30)}) > 20


@pytest.mark.parametrize(
    ("outcome", "printed", "judged"),
    [
        (0, "", "exit code 0"),
        (2, "zerosnet: no", "exit code 2"),
        (2, "", "failure"),
        (3, "", "failure"),
        (1, "Traceback (most recent call last):", "failure"),
        (1, "zerosnet: KeyError: 'a' (ZEROSNET_TRACEBACK=1 shows where)", "failure"),
        ("refused", "", "refused"),
        ("the message does not name x.png", "", "failure"),
    ],
)
def test_failures_are_distinguished_from_answers(outcome, printed, judged):
    assert _judged(outcome, printed).partition(":")[0] == judged


@pytest.mark.parametrize(
    ("alphas", "kind"),
    [
        ([1], "strongly stable"),
        ([0, 1], "weakly stable"),
        ([2, -1], "unstable"),
        ([Fraction(9, 5), -1 - Fraction(1, 10**18)], "unstable"),
        ([2 - Fraction(1, 25 * 10**15), Fraction(1, 25 * 10**15) - 1], "strongly stable"),  # 1, and one next to it
        ([Fraction(9, 5), -1 + Fraction(1, 10**18)], "strongly stable"),
    ],
)
def test_the_reference_knows_what_is_on_the_circle(alphas, kind):
    known = roots([Fraction(alpha) for alpha in alphas])
    kinds = ("strongly stable", "weakly stable", "unstable")
    assert [one for one in kinds if _is_right(one, known, exact=True) == "right"] == [kind]


def test_adversarial_schemes_have_up_to_16_steps():
    steps = {len(adversarial(random.Random(n))) for n in range(600)}
    assert {2, 3, 4, 5, 16} <= steps and max(steps) <= 17
