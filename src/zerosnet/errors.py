"""The one exception type for what a user can mend."""

from collections.abc import Iterable


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Name the known word that a wrong one is most like, in brackets; nothing if none is."""
    from difflib import get_close_matches

    near = get_close_matches(str(name), list(known), n=1, cutoff=0.7)
    return f" (did you mean {near[0]}?)" if near else ""


class InputError(ValueError):
    """Bad input: one line that names what was wrong, its value, and what is accepted.

    The command line prints the line on stderr and exits with status 2; it shows no traceback.
    """


class ExampleError(InputError):
    """A network of somebody else fails on an example.

    Attributes:
        model: The name of its class.
        example: The shapes of the example.
        reason: What the network raised.
    """

    def __init__(self, model: str, example: str, reason: str) -> None:
        super().__init__(
            f"{model} fails on the example {example} ({reason}); "
            "expected an example that it takes: a tensor, a tuple of arguments or a dictionary of keywords"
        )
        self.model, self.example, self.reason = model, example, reason


class MissingExtra(InputError):
    """An optional dependency is needed and not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; it comes with: pip install 'zerosnet[{extra}]'")
