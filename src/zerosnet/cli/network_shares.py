"""Predict the shares of a network whose coefficients are trained, at the start of its training."""

from typing import TYPE_CHECKING

from zerosnet.cli import output
from zerosnet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer import Context

_BAR = 24


def is_trained_law(word: str) -> bool:
    """Check if a word names a network that has a law of mixing, or trained coefficients, for a scheme."""
    from zerosnet.models import find_name

    try:
        form, _ = find_name(word)
    except InputError:
        return False
    return form.scheme is None and not form.takes_scheme


def show_network(words: "Sequence[str]", context: "Context", *, json: bool) -> None:
    """Print the shares that a network starts with; nothing is known of its accuracy before training."""
    from zerosnet.models import create_model, predicted_shares

    name = words[0]
    given = [f"--{option.replace('_', '-')}" for option in context.params if option not in ("scheme", "json")
             and context.get_parameter_source(option).name == "COMMANDLINE"]  # type: ignore[union-attr]  # fmt: skip
    if given or len(words) > 1:
        raise InputError(f"{given[0] if given else words[1]} is given beside {name}, whose shares are predicted at the "
                         "start; expected this name alone, or with --json")  # fmt: skip
    shares = predicted_shares(create_model(name, seed=0))
    if shares is None:
        raise InputError(f"{name} has no prediction of shares; expected a normalised network of CIFAR's size")
    depth = sum(share / (share + 0.1) for share in (min(one, 1e300) for one in shares))
    if json:
        output.print_json({"model": name, "effective_depth": depth, "shares": shares})
        return
    output.print_facts(
        f"{name}, at the start of training",
        [
            ("effective depth", f"{depth:.1f} of {len(shares)} blocks"),
            ("accuracy", "none: its law is about networks with one scheme in all blocks"),
        ],
    )
    print("\nblock   share")
    for block, share in enumerate(shares):
        print(f"{block:5}  {100 * share:6.1f} %  {'#' * round(_BAR * min(share, 1.0))}")
