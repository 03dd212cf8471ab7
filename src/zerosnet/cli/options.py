"""Options that commands share, made from the fields of dataclasses, each declared once where its value is used."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from zerosnet.errors import InputError
from zerosnet.training import DataOptions, EngineOptions, Options

if TYPE_CHECKING:
    from zerosnet.numerics import Scheme
    from zerosnet.training import Clock, RunSpec, Store


StoreFolder = Annotated[str, typer.Option(help="The folder that holds the runs.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Epochs = Annotated[int | None, typer.Option(help="Epochs, in place of the recipe's.")]
Precision = Annotated[
    str | None, typer.Option(help="bf16 (convolutions), mixed (state too; imagefolder), fp32 or fp64; part of the run.")
]
StageChangeOption = Annotated[
    str | None, typer.Option("--stage-change", help="project-each, project-shared or restart; part of the run.")
]
BetaGrowth = Annotated[
    str | None, typer.Option(help="The beta of the n-th multistep block is multiplied by its n-th power.")
]

InitGrowth = Annotated[
    str | None,
    typer.Option(help="The last convolution of the n-th multistep block starts with weights times its n-th power."),
]


@dataclass(frozen=True)
class Session(EngineOptions):
    """A command that trains: on which machines, into which store, for how long, and how it prints the outcome."""

    store: Annotated[str, "The folder that holds the runs."] = "runs"
    max_seconds: Annotated[float | None, "Stop cleanly after so long, to be continued later."] = None
    json: Annotated[bool, "One JSON document on stdout."] = False


def with_fields(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function: a parameter that is a dataclass becomes one option per field.

    A field is declared as ``name: Annotated[type, "its help"] = default``; one that is itself a dataclass is taken
    apart in the same way. A type with a method `parse` is given as text.
    """
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    kinds = {name: hint for name, hint in hints.items() if hasattr(hint, "__dataclass_fields__")}
    parameters: list[Parameter] = []
    for name, parameter in signature.parameters.items():
        if name in kinds:
            parameters += [_parameter(*option) for option in _options(kinds[name])]
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @wraps(function)
    def command(**given: Any) -> None:
        values = {name: _build(kind, given) for name, kind in kinds.items()}
        function(**given, **values)

    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _options(kind: Any) -> Iterator[tuple[str, Any, str, Any]]:
    """List name, type, help and default of all fields."""
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        if get_origin(hints[field.name]) is Annotated:
            yield field.name, *get_args(hints[field.name]), field.default
        else:
            yield from _options(hints[field.name])


def _parameter(name: str, kind: Any, text: str, default: Any) -> Parameter:
    if hasattr(kind, "parse"):
        kind, default = str, str(default)
    elif get_origin(kind) is tuple:
        kind, default = list[str] | None, None
    option = typer.Option(f"--{name.replace('_', '-')}", help=text)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _build(kind: Any, given: dict[str, Any]) -> Any:
    """Build a dataclass from values by name, which are taken out of `given`."""
    hints = get_type_hints(kind)
    values = {}
    for field in fields(kind):
        hint = hints[field.name]
        if field.name not in given:
            values[field.name] = _build(hint, given)
        elif hasattr(hint, "parse"):
            values[field.name] = hint.parse(given.pop(field.name))
        elif get_origin(hint) is tuple:
            values[field.name] = tuple(given.pop(field.name) or ())
        else:
            values[field.name] = given.pop(field.name)
    return kind(**values)


def check_alone(command: str) -> None:
    """Refuse a command that torchrun starts several times: each process would do, print and write everything."""
    from zerosnet.training import local_world

    if local_world().size > 1:
        raise InputError(f"torchrun is for train; {command} is one process, and takes up what train left in the store")


def note_unused(options: DataOptions, datasets: Iterable[str]) -> None:
    """Print a line for --data and --download if none of the data sets reads or fetches files."""
    from zerosnet.data import source

    names = list(dict.fromkeys(datasets))
    listed = ", ".join(names)
    if names and options.download and not any(source(name).download for name in names):
        print(f"zerosnet: --download is not used: {listed} cannot be fetched, or needs no files", file=sys.stderr)
    if names and options.data is not None and all(source(name).embedded for name in names):
        print(f"zerosnet: --data is not used: {listed} needs no files", file=sys.stderr)


def show_outcome(specs: "Sequence[RunSpec]", store: "Store", clock: "Clock", json: bool) -> int:
    """Print what became of the runs and return the exit code: 130 or 143 after a signal."""
    from zerosnet.training import distinct, local_world

    if not local_world().writes:
        return exit_code(clock)
    asked = distinct(specs)
    summaries = [_summary(store, spec) for spec in asked]
    if json:
        import json as encoder

        print(encoder.dumps(summaries, indent=2))
    else:
        for summary, spec in zip(summaries, asked):
            print(_line(summary, spec.scheme))
    open_runs = sum(summary["status"] in ("stopped", "waiting") for summary in summaries)
    if open_runs and clock.must_stop():
        print(f"zerosnet: stopped by {cause(clock)}; the same command goes on with {open_runs} run(s)", file=sys.stderr)
    return exit_code(clock)


def exit_code(clock: "Clock") -> int:
    return 0 if clock.signal is None else 128 + clock.signal


def cause(clock: "Clock") -> str:
    """Name what stopped a command."""
    return "the time limit" if clock.signal is None else clock.signal.name


def _summary(store: "Store", spec: "RunSpec") -> dict[str, Any]:
    if not (store.folder(spec) / "spec.json").exists():
        return {"id": spec.id, "model": spec.model, "seed": spec.seed, "status": "waiting"}
    return store.find(store.folder(spec).name).summary()


def _line(summary: dict[str, Any], scheme: "Scheme | None") -> str:
    parts = [summary["id"], *([] if scheme is None else [scheme.short_name]), summary["status"]]
    if summary["status"] == "finished":
        parts.append(f"test {summary['test_accuracy']:.2%}")
        if "test_top5_accuracy" in summary:
            parts.append(f"top-5 {summary['test_top5_accuracy']:.2%}")
        if "best_test_accuracy" in summary:
            parts.append(f"best {summary['best_test_accuracy']:.2%} (epoch {summary.get('best_epoch', '?')})")
        if "train_accuracy" in summary:
            parts.append(f"train {summary['train_accuracy']:.2%}")
    elif summary["status"] == "diverged":
        parts.append(summary["reason"])
    elif "epochs" in summary:
        epochs, steps = summary["epochs"], summary["steps"]
        parts.append(f"after {epochs} epoch{'' if epochs == 1 else 's'}" + (f", at step {steps}" if steps else ""))
    return "  ".join(parts)


def begin(specs: "Sequence[RunSpec]", store: str, options: Options, *, trains: bool = True) -> None:
    """Refuse runs that cannot be, tell what is about to be trained, and begin to compile kernels that it may need.

    Networks that do not exist, schemes that they do not take, and data without a folder are found here. A run that has
    ended needs no data. Without `trains` nothing is compiled.
    """
    from zerosnet.data import check_place, image_size, source
    from zerosnet.kernels import begin_compiling
    from zerosnet.models import check_model
    from zerosnet.training import Store

    for spec in specs:
        check_model(spec.model, spec.scheme, block_schemes=spec.block_schemes is not None)
    there = Store(store)
    waiting = dict.fromkeys(s.dataset for s in specs if not (there.folder(s) / "result.json").exists())
    for dataset in waiting:
        check_place(dataset, options.data)
    announce(f"{_described(specs)}, kept in {Path(store)}; loading PyTorch ...")
    if trains and options.kernels != "torch" and options.device != "cpu":
        begin_compiling([image_size(dataset) for dataset in waiting if not source(dataset).streamed])


def announce(line: str) -> None:
    """Print a line at once if somebody is at the terminal: the first sign of life, before torch is loaded."""
    if sys.stderr.isatty():
        print(line, file=sys.stderr, flush=True)


def _described(specs: "Sequence[RunSpec]") -> str:
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
