"""The command `zerosnet`, and `python -m zerosnet`: Ctrl-C is one line and exit code 130, also while modules load."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType


def main() -> None:
    """Run the command line and exit with its code."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait leave their core to other programs
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    _prepare_streams()
    from zerosnet import lazy
    from zerosnet.cli.main import run

    lazy.freezes = True
    sys.exit(run())


def _prepare_streams() -> None:
    """Replace closed streams (`>&-`, `2>&-`) by the null device, and signs that an encoding lacks by a ?."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)  # so that no file of ours gets the number of a stream
                os.close(null)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Leave at once while a module loads: nothing has begun yet, and an exception might be swallowed in there."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            with suppress(Exception):
                sys.stdout.flush()
            os.write(2, b"zerosnet: interrupted\n")
            os._exit(130)
        frame = frame.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
