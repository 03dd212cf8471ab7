"""What the fuzzer draws: numbers, texts, paths, schemes, values of JSON and damaged bytes, hostile ones among them."""

import random
from typing import Any

NUMBERS = (
    "0", "-0", "1", "-1", "1/3", "-9/5", "16/9", "0.1", "2.5e-3", "1e39", "1e308", "1e309", "1e-308", "1e-400", "1e400",
    "-1e400", "nan", "inf", "-inf", "1/0", "0/0", "0/1", "0x10", "0b1", "1_000", "٣", "½", "²", "1e", "e1", ".", "+1",
    "--1", "1+1j", "1j", "True", "None", "", " ", "1 2", "1/3/5", "9" * 20, "9" * 400, "9" * 5000, "1/" + "9" * 300,
    "0." + "1" * 60, "1e99999999", "1e-99999999", "√2", "pi", "__import__('os')", "\x00", "\ud800", "1\n2",
    "-", "1e3", "00012", "1.",
)  # fmt: skip
WORDS = (
    "zerosnet20_opt", "zerosnet20", "preresnet20", "lmresnet20", "zerosnet56", "zerosnet1298", "digits", "cifar10",
    "mnist", "folder", "imagefolder@32", "folder:x@8", "quick", "paper", "euler", "leapfrog", "lm", "zerosnet",
    "momentum",
    "adams-bashforth", "from-roots", "cpu", "cuda", "cuda:7", "auto", "fp32", "bf16", "fp64", "project-each", "restart",
    "[bold]x[/]", "a" * 300, "../..", "%s%n", "{}", "'; --", "--help", "-h", "--json", "é", "\u202e", "a\tb", "null",
    "*",
)  # fmt: skip
PATHS = (
    "runs", "store", "run", "missing/below", ".", "..", "/", "/dev/null", "/dev/full", "/proc/self/mem", "", " ",
    "file.txt", "file.txt/below", "loop", "dangling", "pipe", "locked", "a" * 300, "a/" * 600, "\x00", "\ud800", "~",
    "images", "images/train", "damaged.json", "deep.json", "weights.safetensors", "out.png", "out.svg", "out.xyz", "-o",
)  # fmt: skip


def number(rng: random.Random) -> str:
    """Draw a number as text: usual, rational, or hostile."""
    kind = rng.random()
    if kind < 0.35:
        return f"{rng.randint(-9, 9)}/{rng.randint(1, 9)}"
    if kind < 0.55:
        return repr(round(rng.uniform(-3, 3), rng.randint(0, 12)))
    if kind < 0.65:
        return f"{rng.choice('+-')}{rng.random()}e{rng.randint(-330, 330)}".removeprefix("+")
    return rng.choice(NUMBERS)


def tame_number(rng: random.Random) -> str:
    """Draw a number that is one."""
    if rng.random() < 0.5:
        return f"{rng.randint(-99, 99)}/{rng.randint(1, 99)}"
    return repr(round(rng.uniform(-3, 3), rng.randint(0, 6)))


def text(rng: random.Random) -> str:
    """Draw a word, a path, a number, or signs without a meaning."""
    kind = rng.random()
    if kind < 0.9:
        return rng.choice(rng.choice((WORDS, PATHS, NUMBERS)))
    return "".join(chr(rng.choice((rng.randint(0, 127), rng.randint(0, 0xD7FF)))) for _ in range(rng.randint(0, 30)))


def scheme(rng: random.Random, hostile: float = 0.4) -> str:
    """Draw the text of a scheme of up to 16 steps, or of something like it."""
    kind = rng.random()
    one = number if rng.random() < hostile else tame_number
    if kind < 0.2:
        inside = ",".join(one(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 3))))
        return f"{rng.choice(WORDS[14:21])}({inside})"
    if kind < 0.25:
        return text(rng)
    steps = rng.choice((1, 1, 2, 2, 3, 3, 3, 4, 5, 6, 8, 12, 16)) if rng.random() < 0.97 else rng.randint(17, 60)
    alphas = ",".join(one(rng) for _ in range(steps))
    betas = ",".join(one(rng) for _ in range(rng.choice((1, 1, 1, 2, 3, steps))))
    return rng.choice((";", ";", ";", ";", ";", "; ", ",", ";;", "|")).join((alphas, betas))


def value(rng: random.Random, depth: int = 0) -> Any:
    """Draw a value of JSON, of any type."""
    kind = rng.randint(0, 11 if depth < 3 else 8)
    if kind < 9:
        simple = (None, True, False, 0, -1, 1, 2**63, 10**400, 1e308, float("inf"), float("nan"), 0.5, -0.0, 1e-320, "")
        return rng.choice((*simple, number(rng), text(rng), rng.randint(-10, 300), rng.uniform(-1, 2)))
    if kind < 11:
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    return {text(rng): value(rng, depth + 1) for _ in range(rng.randint(0, 3))}


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Damage bytes: cut, flip, double, replace, or nothing left."""
    kind = rng.randint(0, 6)
    if kind == 0:
        return content[: rng.randint(0, len(content))]
    if kind == 1:
        return b""
    if kind == 2:
        return bytes(rng.randrange(256) for _ in range(rng.randint(1, 200)))
    if kind == 3:
        return content + content[: rng.randint(0, len(content))]
    if kind == 4:
        return b"[" * 100_000
    changed = bytearray(content)
    for _ in range(min(rng.choice((1, 1, 3, 30)), len(changed))):
        changed[rng.randrange(len(changed))] = rng.choice((0, 255, rng.randrange(256)))
    return bytes(changed)


FIELDS = ("model", "dataset", "recipe", "seed", "scheme", "precision", "validation", "stage_change", "beta_growth")
_RECIPE = (
    "name", "epochs", "batch", "lr", "schedule", "optimiser", "momentum", "nesterov", "beta2", "weight_decay",
    "coefficient_decay", "augmentation", "scaling", "label_smoothing", "reset_momentum", "adversarial", "decay_norms",
)  # fmt: skip
_PARTS = {
    "schedule": ({"kind": "step", "at": [0.5], "gamma": 0.1}, {"kind": "cosine", "warmup": 1}, {"kind": "one-cycle"}),
    "augmentation": ({"crop": 1, "flip": True}, {"area": [0.1, 1], "aspect": [0.5, 2]}),
    "adversarial": ({"kind": "pgd", "eps": 0.1, "step": 0.05, "steps": 1, "project": True},),
}


def spec(rng: random.Random) -> Any:
    """Draw a spec as JSON, in most of whose fields nothing is wrong."""
    recipe: dict[str, Any] = {"name": "quick", "epochs": 1}
    for name in rng.sample(_RECIPE, rng.randint(0, 2)):
        part = dict(rng.choice(_PARTS.get(name, ({},))))
        if part and rng.random() < 0.8:
            part[rng.choice(sorted(part))] = value(rng)
        recipe[name] = part or value(rng)
    found: dict[str, Any] = {
        "model": "zerosnet20_opt",
        "dataset": "digits",
        "recipe": recipe,
        "seed": rng.randint(1, 9),
    }
    for name in rng.sample(FIELDS, rng.choice((0, 0, 1, 2))):
        found[name] = scheme(rng) if name == "scheme" and rng.random() < 0.7 else value(rng)
    if rng.random() < 0.1:
        found[text(rng)] = value(rng)
    return found
