"""`zerosnet attack`: what perturbations do to finished runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zerosnet.cli import output
from zerosnet.cli.attack_tables import print_results
from zerosnet.cli.drawings import Bars
from zerosnet.cli.main import app
from zerosnet.cli.options import announce
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from zerosnet.robustness import ProtocolResult


@app.command(short_help="Run a robustness protocol on finished runs.")
def attack(
    runs: Annotated[
        list[str], typer.Argument(help="Runs, by id or a part of it that only one run has, or trained networks.")
    ],
    protocol: str = typer.Option(
        help="paper-noise, paper-fgsm, paper-pgd, pgd-whitebox, autoattack, corruptions, smoothing."
    ),
    store: str = typer.Option("runs", help="The folder that holds the runs."),
    data: str | None = typer.Option(None, help="The folder that holds the data set, and CIFAR-10-C if it is there."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or cuda:N."),
    eps: Annotated[
        list[str] | None,
        typer.Option(help="Radius of the attack, such as 8/255 or 0.03, instead of the protocol's; may be repeated."),
    ] = None,
    restarts: int | None = typer.Option(None, help="Random restarts of pgd-whitebox; 5 by default."),
    samples: int | None = typer.Option(None, help="Noisy samples per image for smoothing; 10,000 by default."),
    sigma: float | None = typer.Option(
        None, help="Deviation of the noise for smoothing; by default that of the run's training, or else 0.25."
    ),
    images: int | None = typer.Option(
        None, help="Number of test images, chosen at random by seed 1; all by default, 500 for smoothing."
    ),
    again: bool = typer.Option(False, "--again", help="Measure again what the store has already."),
    plot: str | None = typer.Option(None, metavar="FILE", help=output.PLOT_HELP),
    json: bool = typer.Option(False, "--json", help="One JSON document on stdout: a list of objects, one per run."),
) -> None:
    """Run a robustness protocol on finished runs; the results are kept in the store, beside the runs.

    Runs of the same architecture are attacked side by side. Every adversarial number comes with its sanity checks:
    failed ones are printed as warnings, and those that could not be made are named. For a trained network that comes
    with zerosnet, such as zerosnet20_opt.cifar10, results are printed and not kept. If no run could be measured, the
    exit code is 1.
    """
    import sys
    from contextlib import ExitStack, redirect_stdout

    from zerosnet.robustness import check_options, read_radius, require_sigma

    if not all(runs):
        raise InputError("a run's name is empty; expected its id, or a part of it that only one run has")
    check_options(protocol, restarts=restarts, eps=eps or None, samples=samples, sigma=sigma)
    if sigma is not None:
        require_sigma(sigma)
    radii = None if not eps else tuple(read_radius(text) for text in eps)
    target = output.checked_plot(plot)
    announce(f"{protocol} on {', '.join(runs[:3])}{' ...' if len(runs) > 3 else ''}")
    from zerosnet.cli.attacked_runs import find_attacked, measure
    from zerosnet.training import Store, find_device

    with ExitStack() as stack:
        bars = stack.enter_context(Bars())
        stack.enter_context(redirect_stdout(sys.stderr))  # what other packages print goes there: stdout is for results
        records = find_attacked(runs, Store(store), stack)
        results = measure(
            Store(store),
            records,
            protocol,
            sigma=sigma,
            device=find_device(device),
            data=None if data is None else Path(data),
            restarts=restarts,
            images=images,
            eps=radii,
            samples=samples,
            again=again,
            report=bars.report,
            bar=bars.add,
        )
    if json:
        import json as encoder

        print(encoder.dumps([{"run": run, **result.to_json()} for run, result in results.items()], indent=2))
    else:
        print_results(results, {record.id: record.spec for record in records})
    if not any(result.rows for result in results.values()):
        print(f"zerosnet: nothing was measured{f'; {plot} is not drawn' if plot else ''}", file=sys.stderr)
        raise typer.Exit(1)
    output.draw(target, lambda: _figure(results), quiet=json)


def _figure(results: "dict[str, ProtocolResult]") -> "Figure":
    from zerosnet.report import attack_figure

    return attack_figure(results)
