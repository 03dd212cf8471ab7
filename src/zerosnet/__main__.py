"""The command `zerosnet`, and `python -m zerosnet`: Ctrl-C is one line and exit code 130, also while modules load."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType


def main() -> None:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait leave their core to other programs
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    from zerosnet.cli.main import main as run

    run()


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
