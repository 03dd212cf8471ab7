"""The one exception type for what a user can mend."""


class InputError(ValueError):
    """Bad input: one line that says what was wrong, its value, and what is accepted.

    The command line prints the line on stderr and exits with status 2; it shows no traceback.
    """


class MissingExtra(InputError):
    """An optional dependency is needed and not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; it comes with: pip install 'zerosnet[{extra}]'")
