"""`zerosnet predict`: how much of its depth a network will use, and how accurate it will be, before training."""

from typing import TYPE_CHECKING

import typer

from zerosnet.cli import output
from zerosnet.cli.main import app
from zerosnet.cli.network_shares import is_trained_law, show_network
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from zerosnet.numerics import Forecast

_HELP = """Predict how much of its depth a network uses, and its test accuracy, from its coefficients alone.

The share of a block is how much it adds to the state, relative to the state; its part is how much of what the head
reads comes from it. Both are computed for the network at initialisation. The accuracy law was fitted to trained
networks on CIFAR-10 (recipe paper); for other data, and for depths or largest roots far from these, only shares are
given. For a network whose coefficients are trained (preresnetN_x0, streamsN, ...), shares are those at the start.

Examples: zerosnet predict "zerosnet(-9/5)"; zerosnet predict "1,1,1;1" --beta-growth 1.839 --layers 110."""

_BAR = 24
_USED = "by how much of each block reaches the head"
_SURVIVING = "of the blocks that survive, by how much of each reaches the head"
_TOO_MANY = "none: among so many blocks even equal parts would hardly count"


@app.command(
    help=_HELP,
    short_help="Predict effective depth and accuracy of a network, before training.",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def predict(
    context: typer.Context,
    scheme: str | None = typer.Argument(
        None, help='"zerosnet(-9/5)" or "alphas;betas", may be repeated; or preresnet56_x0, streams56, ...'
    ),
    layers: int = typer.Option(56, help="20, 32, 44, 56, 110, 164, 326, 650 or 1298."),
    dataset: str = typer.Option("cifar10", help="The data set that accuracy is predicted for."),
    alphas: str | None = typer.Option(None, help="Weights of the states, newest first: 1/3,5/9,1/9."),
    betas: str | None = typer.Option(None, help="Weights of the slopes, newest first: 16/9."),
    beta_growth: str = typer.Option("1", help="The beta of the n-th multistep block is multiplied by its n-th power."),
    stage_change: str = typer.Option("project-each", help="project-each, project-shared or restart."),
    register: str | None = typer.Option(None, metavar="FILE", help="Append the predictions, with date and commit."),
    accuracies: str | None = typer.Option(None, "--map", metavar="FILE", help="Draw accuracy over the disc of roots."),
    plot: str | None = typer.Option(None, metavar="FILE", help="Draw shares and parts of the (first) scheme."),
    json: bool = typer.Option(False, "--json", help=output.JSON_HELP),
) -> None:
    words = [*([] if scheme is None else [scheme]), *context.args]
    output.refuse_options(words, context)
    if words and is_trained_law(words[0]):
        show_network(words, context, json=json)
        return
    by_numbers = alphas is not None or betas is not None
    if not words and not by_numbers and accuracies is None:
        raise InputError('no scheme given; expected one such as "zerosnet(-9/5)" or "1/3,5/9,1/9;16/9", or --map FILE')
    from zerosnet.data import source
    from zerosnet.numerics import forecast

    source(dataset)
    figure_path, map_path = output.checked_plot(plot), output.checked_plot(accuracies)
    schemes = [output.parsed_scheme(word) for word in words]
    if by_numbers:
        schemes.append(output.named_scheme(None, alphas, betas, None, None, None))
    if plot is not None and not schemes:
        raise InputError("--plot draws a scheme, and none is given")
    if accuracies is not None:
        why_not = forecast("euler()", layers, dataset=dataset).prediction.why_not
        if why_not is not None:
            raise InputError(f"--map draws predicted accuracies, and there are none: {why_not}")
    found = [
        forecast(
            one,
            layers,
            dataset=dataset,
            stage_change=stage_change,
            beta_growth=beta_growth,
        )
        for one in schemes
    ]
    if register is not None:
        _register(register, found)
    if json:
        documents = [one.to_json() for one in found]
        output.print_json(documents[0] if len(documents) == 1 else documents)
    elif len(found) == 1:
        _show_one(found[0])
    elif found:
        _show_several(found)
    _draw(figure_path, map_path, found, layers, quiet=json)


def _show_one(found: "Forecast") -> None:
    predicted = found.prediction
    rows = [
        ("effective depth", f"{found.effective_depth:.1f} of {len(found.shares)} blocks"),
        ("survive training", found.survivors_text),
        ("parameters in use", f"{_used_text(found)} ({_counted(found)})" if _counts(found) else _TOO_MANY),
        ("accuracy", _accuracy_text(found)),
    ]
    if predicted.calibrated:
        rows += [("last epoch", f"{found.last_epoch.accuracy:.1f} % (the accuracy above is that of the best epoch)")]
        nearest = (f"{one.label} has {one.accuracy:.2f} %" for one in found.nearest)
        rows += [("measured nearby", "; ".join(nearest))] if found.nearest else []
    output.print_facts(
        f"{found.scheme.name}, {found.layers} layers, before training", [*rows, ("limited by", found.limit)]
    )
    print("\nblock   share    " + " " * _BAR + " part of what the head reads")
    print(f" stem  {'':8}  {'':{_BAR}}  {_percent(found.stem_part)}")
    for block, (share, part) in enumerate(zip(found.shares, found.parts)):
        dies = found.survivors is not None and not found.survivors[block]
        print(f"{block:5}  {_percent(share)}  {_bar(share)}  {_percent(part)}{'  dies' * dies}")


def _show_several(found: "list[Forecast]") -> None:
    lines = [
        (one.scheme.short_name, f"{one.effective_depth:.1f}", one.survivors_text, _used_text(one), _short(one))
        for one in found
    ]
    columns = ("scheme", "effective depth", "survive training", "parameters in use", "accuracy")
    title = f"{found[0].layers} layers, {len(found[0].shares)} blocks, before training"
    output.print_table(title, columns, lines, right=columns[1:], whole=columns[:1])
    output.print_reasons(found)


def _counts(found: "Forecast") -> bool:
    """Check if the law counts blocks of which each has an equal part; in very deep networks it does not."""
    return bool(len(found.shares) * found.law.half < 0.5)


def _counted(found: "Forecast") -> str:
    """Print which parameters are in use; survivors are left out where they are unknown."""
    return _USED if found.survivors is None else _SURVIVING


def _used_text(found: "Forecast") -> str:
    """Write effective parameters as a part of those of all blocks; all count where survivors are unknown."""
    whole = sum(4**i * stage.blocks for i, stage in enumerate(found.wiring.stages))
    used = found.parameters_that_reach if found.survivors is None else found.effective_parameters
    return f"{100 * used / whole:.0f} %" if _counts(found) else "none"


def _short(found: "Forecast") -> str:
    accuracy = found.prediction.accuracy
    return "none" if accuracy is None else f"{accuracy:.1f} %"


def _accuracy_text(found: "Forecast") -> str:
    predicted = found.prediction
    if predicted.accuracy is None or predicted.interval is None:
        return f"none: {predicted.why_not}"
    low, high = predicted.interval
    law = found.law
    alike = law.networks_like(found.wiring)
    kind = "near the threshold of survival" if law.is_near(found.wiring) else "clear of the threshold of survival"
    return (
        f"{predicted.accuracy:.1f} % on {found.dataset} (90 % interval {low:.1f} to {high:.1f}; leave-one-out error of "
        f"the {len(alike)} measured networks that are {kind}: {law.rmse_of(alike):.2f} points)"
    )


def _percent(value: float) -> str:
    percent = 100 * value
    digits = f"{percent:.1f}" if percent >= 0.1 else f"{percent:.2f}" if percent >= 0.01 else f"{percent:.0e}"
    return f"{digits if percent else '0'} %".rjust(8)


def _bar(share: float) -> str:
    return ("#" * round(_BAR * min(float(share), 1.0))).ljust(_BAR)


def _draw(figure_path: object, map_path: object, found: "list[Forecast]", layers: int, quiet: bool) -> None:
    from zerosnet.report import accuracy_map, forecast_figure

    output.draw(figure_path, lambda: forecast_figure(found[0]), quiet=quiet)  # type: ignore[arg-type]
    output.draw(map_path, lambda: accuracy_map(layers), quiet=quiet)  # type: ignore[arg-type]


def _register(file: str, found: "list[Forecast]") -> None:
    from zerosnet.experiments import register_predictions

    register_predictions(file, [one.to_json() for one in found])
