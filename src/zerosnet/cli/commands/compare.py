"""`zerosnet compare`: schemes, or runs, side by side."""

from typing import TYPE_CHECKING, Any

import typer

from zerosnet.cli import output
from zerosnet.cli.main import app
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from zerosnet.cli.run_groups import RunGroup
    from zerosnet.numerics import Forecast, Scheme
    from zerosnet.training import Store

_HELP = """Compare schemes, or runs, side by side.

Schemes: verdict, order, shares, effective depth and predicted accuracy. Runs, by id or a part of it: accuracies and
curves, what was predicted, and the used depth if it was measured. A part that several seeds of one run have stands for
all of them.

Examples: zerosnet compare "zerosnet(-9/5)" "1,1,1;1"; zerosnet compare zerosnet20_opt-digits zerosnet20-digits."""


@app.command(
    help=_HELP,
    short_help="Compare schemes, or runs, side by side.",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def compare(
    context: typer.Context,
    first: str = typer.Argument(metavar="A B ...", help='Schemes, such as "zerosnet(-9/5)", or runs.'),
    layers: int = typer.Option(56, help="For schemes: the layers of the network, 20 to 1298."),
    dataset: str = typer.Option("cifar10", help="For schemes: the data set that accuracy is predicted for."),
    store: str = typer.Option("runs", help="The folder that holds the runs."),
    plot: str | None = typer.Option(None, metavar="FILE", help=output.PLOT_HELP),
    json: bool = typer.Option(False, "--json", help=output.JSON_HELP),
) -> None:
    words = [first, *context.args]
    output.refuse_options(words, context)
    if len(words) < 2:
        raise InputError(f"only {first!r} is given; expected two or more schemes, or two or more runs")
    path = output.checked_plot(plot)
    schemes = [_scheme(word) for word in words]
    known = [scheme for scheme in schemes if scheme is not None]
    if len(known) == len(words):
        _compare_schemes(known, layers, dataset, json, path)
    elif all(_is_there(word, store) for word in words):
        _compare_runs(words, store, json, path)
    elif not known:
        other = next(word for word in words if not _is_there(word, store))
        raise InputError(
            f"{other!r} is neither a scheme nor a run in store {store}; "
            'expected schemes such as "zerosnet(-9/5)", or runs by id or a part of it'
        )
    else:
        other = next(word for word, scheme in zip(words, schemes) if scheme is None)
        raise InputError(f"{other!r} is no scheme, and others are; expected schemes only, or runs only")


def _scheme(word: str) -> "Scheme | None":
    """Read a scheme; None if the word is none."""
    try:
        return output.parsed_scheme(word)
    except InputError:
        if ";" in word or "(" in word:
            raise
        return None


def _is_there(name: str, store: str) -> bool:
    from zerosnet.training import Store

    return any(name in folder.parent.name for folder in Store(store).root.glob("*/spec.json"))


def _compare_schemes(schemes: "list[Scheme]", layers: int, dataset: str, json: bool, path: Any) -> None:
    from zerosnet.cli.drawings import print_side_by_side
    from zerosnet.data import source
    from zerosnet.numerics import analyze, forecast

    source(dataset)
    found = [forecast(scheme, layers, dataset=dataset) for scheme in schemes]
    if json:
        both = zip(schemes, found)
        output.print_json(
            [{"name": one.name, **analyze(one).to_json(), "forecast": forecast.to_json()} for one, forecast in both]
        )
    else:
        names = [scheme.name for scheme in schemes]
        output.console().print(f"{layers} layers, {len(found[0].shares)} blocks, before training", style="bold")
        print_side_by_side(names, [_facts_of_scheme(one) for one in found])
        output.print_reasons(found)

    def figure() -> Any:
        from zerosnet.report import schemes_figure

        return schemes_figure(found)

    output.draw(path, figure, quiet=json)


def _facts_of_scheme(found: "Forecast") -> dict[str, str]:
    from zerosnet.cli.drawings import sparkline
    from zerosnet.numerics import analyze, growth

    analysis = analyze(found.scheme)
    grown = growth(found.scheme, len(found.shares))
    verdict = analysis.verdict
    answer = {True: "yes", False: "no", None: "undecided"}[verdict.zero_stable]
    accuracy, interval = found.prediction.accuracy, found.prediction.interval
    predicted = (
        "" if accuracy is None or interval is None else f"{accuracy:.1f} ({interval[0]:.1f} to {interval[1]:.1f})"
    )
    return {
        "zero-stable": f"{answer} ({verdict.kind})",
        "order": str(analysis.order) if analysis.consistent else "none (not consistent)",
        "moduli": ", ".join(f"{modulus:.3f}" for modulus in verdict.moduli),
        "growth": f"{grown.constant:.3g}-fold over {grown.blocks} blocks",
        "effective depth": f"{found.effective_depth:.1f} of {len(found.shares)} blocks",
        "survive training": found.survivors_text,
        "shares of blocks": sparkline([float(share) for share in found.shares]),
        "last share": f"{100 * float(found.shares[-1]):.3g} %",
        "predicted test": predicted,
        "limited by": found.limit,
    }


def _compare_runs(words: list[str], store: str, json: bool, path: Any) -> None:
    from zerosnet.cli.drawings import print_side_by_side
    from zerosnet.training import Store

    groups = [_group(word, Store(store)) for word in words]
    if json:
        output.print_json([_document(group) for group in groups])
    else:
        names = [group.records[0].id if len(group.records) == 1 else _shared_name(group) for group in groups]
        print_side_by_side(names, [_facts_of_runs(group) for group in groups])
        print("accuracies in %, mean and deviation over seeds; curve: test accuracy by epoch")
        if not all(_used_depths(group) for group in groups):
            print("used depth: kept by reproduce only; zerosnet diagnose RUN prints it")

    def figure() -> Any:
        from zerosnet.report import runs_figure

        return runs_figure([(_label(group), group.records) for group in groups])

    output.draw(path, figure, quiet=json)


def _group(name: str, store: "Store") -> "RunGroup":
    """Find the run of that name, or all seeds of the one run that it is a part of."""
    from zerosnet.cli.run_groups import RunGroup, grouped

    records = [record for record in store.scan()[0] if name in record.id]
    exact = [record for record in records if record.id == name]
    alike = grouped(exact or records)
    return alike[0] if len(alike) == 1 else RunGroup((store.find(name),))


def _shared_name(group: "RunGroup") -> str:
    spec = group.spec
    return f"{spec.model}-{spec.dataset}-{spec.recipe.name}"


def _label(group: "RunGroup") -> str:
    return f"{group.network}, {group.scheme_text}"


def _facts_of_runs(group: "RunGroup") -> dict[str, str]:
    from zerosnet.cli.drawings import sparkline
    from zerosnet.cli.run_groups import spread_text
    from zerosnet.experiments import forecast_of_run, prediction_of_run
    from zerosnet.training import duration

    found, predicted = forecast_of_run(group.spec), prediction_of_run(group.spec)
    used, curve, seconds = _used_depths(group), _mean_curve(group), group.values("seconds")
    blocks = "" if found is None else f" of {len(found.shares)} blocks"
    low = min(curve, default=0.0)
    return {
        "scheme": group.scheme_text,
        "setting": group.setting,
        "seeds": ", ".join(str(record.spec.seed) for record in group.records),
        "status": "finished" if group.status_text.isdigit() else group.status_text,
        "test": group.spread_text("test_accuracy"),
        "best": group.spread_text("best_test_accuracy"),
        "train": group.spread_text("train_accuracy"),
        "curve": "" if not curve else sparkline(curve, low, max(curve)),
        "curve, from - to": "" if not curve else f"{100 * curve[0]:.1f} - {100 * curve[-1]:.1f}",
        "predicted best": "" if predicted is None else f"{predicted.accuracy:.1f}",
        "effective depth": "" if found is None else f"{found.effective_depth:.1f}{blocks}, predicted",
        "used depth": f"{spread_text([float(depth) for depth in used])}{blocks}" if used else "",
        "time": "" if not seconds else f"{duration(sum(seconds) / len(seconds))} per run",
    }


def _used_depths(group: "RunGroup") -> list[int]:
    """Read the used depth of runs whose blocks were switched off, by `reproduce`."""
    from zerosnet import files

    paths = [record.folder / "ablation.json" for record in group.records]
    return [files.read_json(path)["used_blocks"] for path in paths if path.exists()]


def _mean_curve(group: "RunGroup") -> list[float]:
    """Average the test accuracy of every epoch that all runs of a group have."""
    curves = [[row["test_accuracy"] for row in record.metrics()] for record in group.records]
    return [sum(values) / len(values) for values in zip(*curves)]


def _document(group: "RunGroup") -> dict[str, Any]:
    from zerosnet.experiments import forecast_of_run, prediction_of_run

    found, predicted = forecast_of_run(group.spec), prediction_of_run(group.spec)
    return {
        "name": _label(group),
        "runs": [record.summary() for record in group.records],
        "curve": _mean_curve(group),
        "predicted_accuracy": None if predicted is None else predicted.accuracy,
        "effective_depth": None if found is None else found.effective_depth,
        "used_depth": _used_depths(group),
    }
