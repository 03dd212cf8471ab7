"""`zerosnet`: the application, and the one place where errors become exit codes.

Exit codes: 0 success, 1 failure, 2 bad input (one line on stderr), 130 interrupted.
"""

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from zerosnet.errors import InputError

TURN = 20.0  # seconds for the first of several processes to say what is wrong


class Interrupted(Exception):
    """Ctrl-C, which typer would turn into a silent exit."""


class Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None


app = typer.Typer(
    name="zerosnet",
    cls=Commands,
    help="Analyse, design and train networks that are numerical schemes.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def version_option(
    version: bool = typer.Option(False, "--version", is_eager=True, help="Print the version and leave."),
) -> None:
    if version:
        from zerosnet import __version__

        print(__version__)
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; set ZEROSNET_TRACEBACK=1 to see tracebacks."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # where an encoding lacks a sign, such as the ± of a deviation, a ?
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if os.environ.get("ZEROSNET_TRACEBACK"):
        return _code(app(args=arguments, prog_name="zerosnet", standalone_mode=False))
    try:
        return _code(app(args=arguments, prog_name="zerosnet", standalone_mode=False))
    except InputError as error:
        return _complain(str(error), 2)
    except (Interrupted, KeyboardInterrupt):
        return _complain("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:
        return _complain(str(error), 1)
    except Exception as error:  # typer's own usage errors carry their message and exit code
        if hasattr(error, "format_message"):
            if type(error).__name__ == "NoArgsIsHelpError":
                print(error.format_message(), file=sys.stderr)
                return 2
            return _complain(_usage(error), 2)
        return _complain(f"{type(error).__name__}: {error} (ZEROSNET_TRACEBACK=1 shows where)", 1)


def _usage(error: Any) -> str:
    """A usage error as our own are written, and where to read on."""
    message = error.format_message().rstrip(".")
    where = "zerosnet" if error.ctx is None else error.ctx.command_path
    return f"{message[:1].lower()}{message[1:]}; see {where} --help"


def _code(result: object) -> int:
    return result if isinstance(result, int) else 0


def _complain(message: str, code: int) -> int:
    if code == 2:
        _let_the_first_process_speak()
    line = " ".join(message.split())
    print(f"zerosnet: {line}", file=sys.stderr)
    return code


def _let_the_first_process_speak() -> None:
    """All processes of a torchrun find the same bad input: the first of a machine says so, and its end ends the others.

    What they find once they have met (torch.distributed has begun) they tell each other.
    """
    distributed = sys.modules.get("torch.distributed")
    have_met = distributed is not None and distributed.is_initialized()
    if "TORCHELASTIC_RUN_ID" in os.environ and os.environ.get("LOCAL_RANK", "0") != "0" and not have_met:
        time.sleep(TURN)


# the commands register themselves; they load what is heavy when they are called
from zerosnet.cli.commands import (  # noqa: E402, F401
    analyze,
    attack,
    design,
    diagnose,
    doctor,
    evaluate,
    explore,
    export,
    predict,
    region,
    report,
    reproduce,
    runs,
    sweep,
    train,
)
