"""Read data files, with errors that name the file and what was expected."""

from pathlib import Path

from zerosnet.errors import InputError


def read_bytes(path: Path) -> bytes:
    """The content of a file of a data set; a missing or unreadable one is the user's to mend."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"{path} is missing; expected the official files below the data folder "
            "(--data DIR; --download fetches the public data sets)"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); expected an official data file") from None
