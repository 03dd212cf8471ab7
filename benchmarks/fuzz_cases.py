"""Cases of the fuzzer, each a function of kind, seed and number: command lines, damaged files, and calls in Python."""

import json
import os
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import fuzz_draws as draws
from benchmarks.fuzz_calls import draw_call
from benchmarks.fuzz_world import RUN, picture
from zerosnet.errors import InputError

REFUSED, ANSWERED = "refused", "answered"
_NOISE = ["--protocol", "paper-noise"]
_SHORT = ["--max-seconds", "0.05"]  # a training is a training; here it is to begin and stop


@dataclass(frozen=True)
class Case:
    """Something to try: `go` returns an exit code, or how a call in Python ended; other exceptions are failures."""

    kind: str
    text: str
    go: Callable[[], int | str]


def draw(kind: str, seed: int, number: int) -> Case:
    """Draw a case; the same arguments give the same one."""
    return KINDS[kind](kind, random.Random(f"{seed} {kind} {number}"))


def _command(kind: str, words: Sequence[str], prepare: Callable[[], object] = lambda: None) -> Case:
    def go() -> int:
        from zerosnet.cli.main import run

        prepare()
        return run(words)

    return Case(kind, ascii(list(words)), go)


def _options(rng: random.Random, table: dict[str, Callable[[random.Random], str]], most: int = 3) -> list[str]:
    words = []
    for name in rng.sample(sorted(table), rng.randint(0, min(most, len(table)))):
        words += [name, table[name](rng)] if rng.random() < 0.97 else [name]
    return words


def _flags(rng: random.Random, *flags: str) -> list[str]:
    return [flag for flag in flags if rng.random() < 0.3]


# -- schemes -----------------------------------------------------------------------------------------------------------


def _schemes(kind: str, rng: random.Random) -> Case:
    command = rng.choice(("analyze", "analyze", "analyze", "predict", "predict", "region", "design"))
    words = [command]
    if command == "analyze":
        table = {"--alphas": draws.scheme, "--betas": draws.number, "--family": draws.text, "--param": draws.number}
        words += [draws.scheme(rng)] if rng.random() < 0.85 else _options(rng, {**table, "--beta": draws.text})
    elif command == "predict":
        words += [draws.scheme(rng) for _ in range(rng.choice((1, 1, 1, 2)))]
        layers = lambda rng: rng.choice(("20", "56", "110", draws.number(rng)))  # noqa: E731
        table = {"--layers": layers, "--beta-growth": draws.number, "--stage-change": draws.text}
        words += _options(rng, {**table, "--dataset": draws.text}, 2)
    elif command == "region":
        families = lambda rng: rng.choice(draws.WORDS[14:21])  # noqa: E731
        words += _options(rng, {"--family": families, "--param": draws.number, "--beta": draws.text})
    else:
        few = lambda rng: rng.choice(("1", "2", "3", draws.number(rng)))  # noqa: E731
        words += _options(rng, {"--steps": few, "--order": few, "--objective": draws.text, "--blocks": draws.number})
    return _command(kind, [*words, *_flags(rng, "--json")])


# -- trainings and sweep files -----------------------------------------------------------------------------------------


def _trainings(kind: str, rng: random.Random) -> Case:
    usual = rng.random() < 0.7
    model = rng.choice(("zerosnet20_opt", "zerosnet20")) if usual else draws.text(rng)
    table: dict[str, Callable[[random.Random], str]] = {
        "--seed": draws.number, "--scheme": draws.scheme, "--epochs": draws.number, "--batch": draws.number,
        "--precision": draws.text, "--validation": draws.number, "--stage-change": draws.text, "--device": draws.text,
        "--beta-growth": draws.number, "--init-growth": draws.number, "--data": lambda rng: rng.choice(draws.PATHS),
        "--replicas": draws.number, "--kernels": draws.text, "--workers": draws.number, "--micro-batch": draws.number,
        "--checkpoint-every": draws.number, "--store": lambda rng: rng.choice(draws.PATHS), "--log": draws.text,
        "--recipe": draws.text, "--dataset": draws.text, "--decoder": draws.text, "--broken": draws.text,
    }  # fmt: skip
    words = ["train", model, "--dataset", "digits", "--recipe", "quick", "--epochs", "1"]
    words += [*_options(rng, table, 3), *_flags(rng, "--json", "--deterministic")]
    last = ["--max-seconds", draws.number(rng)] if rng.random() < 0.02 else _SHORT
    return _command(kind, [*words, *last])


def _sweeps(kind: str, rng: random.Random) -> Case:
    grid = {name: draws.value(rng) for name in rng.sample(draws.FIELDS, rng.randint(0, 1))}
    data: Any = rng.choice(
        (
            [draws.spec(rng)],
            {"specs": [draws.spec(rng), draws.spec(rng)]},
            {"grid": {**draws.spec(rng), **grid}},
            draws.spec(rng),
        )
    )
    content = json.dumps(data).encode("utf-8", "replace")
    if rng.random() < 0.15:
        content = draws.damaged(rng, content)
    name = rng.choice(("w.json", "w.json", "w.json", "w.toml", "w"))
    words = ["sweep", name, "--store", "swept", *_flags(rng, "--json"), *_SHORT]
    case = _command(kind, words, lambda: Path(name).write_bytes(content))
    return Case(kind, f"{case.text} {content[:2000]!a}", case.go)


# -- damaged stores and images -----------------------------------------------------------------------------------------


def _stores(kind: str, rng: random.Random) -> Case:
    """Damage one file of a run, and read the store by a command."""
    files = ("spec.json", "result.json", "environment.json", "metrics.jsonl", "weights.safetensors", "lock")
    name = rng.choice((*files, "attacks/paper-noise.json", "ablation.json", "checkpoints/000000000001.safetensors"))
    way, bits = rng.choice(("damage", "damage", "damage", "json", "folder", "pipe", "missing")), rng.getrandbits(32)

    def prepare() -> None:
        shutil.rmtree("hurt", ignore_errors=True)
        shutil.copytree("store", "hurt", symlinks=True)
        path, own = Path("hurt") / RUN.id / name, random.Random(bits)
        content = path.read_bytes() if path.is_file() else b"{}"
        path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        if own.random() < 0.3:
            (path.parents[len(Path(name).parts) - 1] / "result.json").unlink(missing_ok=True)
        if way == "folder":
            path.mkdir()
        elif way == "pipe":
            os.mkfifo(path)
        elif way != "missing":
            path.write_bytes(draws.damaged(own, content) if way == "damage" else _json(own, content))

    commands = (
        ["runs", "--store", "hurt"], ["runs", "--store", "hurt", "--json"], ["evaluate", "quick", "--store", "hurt"],
        ["verify", "hurt"], ["verify", "hurt", "--json"], ["diagnose", f"hurt/{RUN.id}", "--images", "2"],
        ["attack", "quick", "--store", "hurt", "--protocol", "paper-noise", "--images", "5"],
        ["sweep", f"store/{RUN.id}/spec.json", "--store", "hurt", *_SHORT], ["reproduce", "--list", "--store", "hurt"],
    )  # fmt: skip
    words = rng.choice(commands)
    case = _command(kind, words, prepare)
    return Case(kind, f"{case.text} after {way} of {name} ({bits})", case.go)


def _json(rng: random.Random, content: bytes) -> bytes:
    """Replace a value somewhere in a JSON file by another one."""
    try:
        data = json.loads(content)
    except ValueError:
        return json.dumps(draws.value(rng)).encode()
    if isinstance(data, dict) and data:
        data[rng.choice(sorted(data))] = draws.value(rng)
    return json.dumps(data).encode()


_PICTURES = ("PNG", "JPEG", "TIFF", "GIF", "BMP", "WEBP", "PGM", "I16", "F", "DDS", "BLP")


def _images(kind: str, rng: random.Random) -> Case:
    """Read a folder of images, one of which is damaged or of an odd format."""
    odd, name = rng.choice(_PICTURES), rng.choice(("x.png", "x.jpg", "x.tiff", "x.gif", "x.webp", "x.pgm"))
    content = picture(odd, 1)
    if rng.random() < 0.85:
        content = draws.damaged(rng, content)
    dataset = rng.choice(("folder@8", "imagefolder@8"))
    part = "test" if dataset.startswith("image") else rng.choice(("train", "test"))

    def go() -> str:
        from zerosnet.data import load, load_for_test

        path = Path("images", part, "a", name)
        path.write_bytes(content)
        try:
            if dataset.startswith("image"):
                load_for_test(dataset, Path("images"), workers=1, report=lambda line: None)
            else:
                load(dataset, "images")
            return ANSWERED
        except InputError as error:
            return REFUSED if name in str(error) else f"the message does not name {name}: {error}"
        finally:
            path.unlink()

    return Case(kind, f"{dataset} with {odd} as {name}: {content[:60]!r}", go)


# -- the other commands ------------------------------------------------------------------------------------------------


def _others(kind: str, rng: random.Random) -> Case:
    path = lambda rng: rng.choice(draws.PATHS)  # noqa: E731
    network = lambda rng: rng.choice(("zerosnet20_opt", "run", draws.text(rng), path(rng)))  # noqa: E731
    stored = {"--store": path, "--data": path}
    commands: dict[str, tuple[list[str], dict[str, Callable[[random.Random], str]]]] = {
        "runs": ([], {"--store": path}),
        "verify": ([path(rng)], {"--predictions": path, "--data": path}),
        "evaluate": ([network(rng)], {**stored, "--device": draws.text}),
        "attack": (
            [network(rng), "--protocol", "paper-noise", "--images", "2"],
            {**stored, "--restarts": draws.number},
        ),
        "diagnose": (
            [network(rng), "--images", "2"],
            {**stored, "--scheme": draws.scheme, "--statistics": draws.text, "--images": draws.number},
        ),
        "export": (
            [network(rng), "-o", rng.choice(draws.PATHS[:-8])],
            {"--format": draws.text, "--scheme": draws.scheme, "--size": draws.number},
        ),
        "reproduce": (["--list", draws.text(rng)], {"--store": path, "--scale": draws.text, "--only": draws.text}),
        "report": ([path(rng)], {"-o": path}),
        "explore": (["--no-browser", "--port", rng.choice(("-1", "65536", "x", "9" * 20))], {"--host": draws.text}),
        "doctor": ([], stored),
        draws.text(rng): ([draws.text(rng)], {draws.text(rng): draws.text}),
    }
    weights = [2, 2, 2, 2, 2, 2, 2, 0.5, 2, 0.3, 2]
    command = rng.choices(sorted(commands, key=list(commands).index), weights[: len(commands)])[0]
    first, table = commands[command]
    return _command(kind, [command, *first, *_options(rng, table, 2), *_flags(rng, "--json")])


def _calls(kind: str, rng: random.Random) -> Case:
    name, call, arguments = draw_call(rng)

    def go() -> str:
        try:
            call()
        except InputError:
            return REFUSED
        return ANSWERED

    return Case(kind, f"{name} {ascii(arguments)[:3000]}", go)


KINDS: dict[str, Callable[[str, random.Random], Case]] = {
    "schemes": _schemes,
    "trainings": _trainings,
    "sweep files": _sweeps,
    "damaged stores": _stores,
    "images": _images,
    "other commands": _others,
    "Python calls": _calls,
}
