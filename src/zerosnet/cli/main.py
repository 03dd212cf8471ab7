"""`zerosnet`: the application, and the one place where errors become exit codes.

Exit codes: 0 success, 1 failure, 2 bad input (one line on stderr), 130 interrupted.
"""

import errno
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import typer

from zerosnet.errors import InputError, did_you_mean

TURN = 20.0  # seconds for the first of several processes to print what is wrong
_BAD_NAMES = (errno.ENAMETOOLONG, errno.ELOOP)  # no path of ours: it was given
COMPLETION = "_ZEROSNET_COMPLETE"  # set by a shell that completes a command line


app = typer.Typer(
    name="zerosnet",
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


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; with ZEROSNET_TRACEBACK=1 errors show their tracebacks."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if COMPLETION in os.environ:
        app(args=words, prog_name="zerosnet")  # what a shell asks for; it ends the process
    try:
        command = typer.main.get_command(app)
        with command.make_context("zerosnet", words) as context:
            command.invoke(context)
        sys.stdout.flush()
        return 0
    except typer.Exit as end:
        return end.exit_code
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("ZEROSNET_TRACEBACK"):
            raise
        return _complain(error)
    finally:
        _cancel_compiling()


def _cancel_compiling() -> None:
    """Cancel kernels that nobody has waited for: a command that has ended, or failed, needs no others."""
    compiler = sys.modules.get("zerosnet.kernels.compile")
    if compiler is not None:
        compiler.cancel_compiling()


def _complain(error: BaseException) -> int:
    """Print one line about an error and return the exit code that goes with it."""
    if isinstance(error, BrokenPipeError):
        sys.stderr.close()
        return 1
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)  # type: ignore[attr-defined]
        return 2
    message, code = _message(error)
    if code == 2:
        _let_the_first_process_speak()
    print(f"zerosnet: {' '.join(message.split())}", file=sys.stderr)
    return code


def _message(error: BaseException) -> tuple[str, int]:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", 130
    if isinstance(error, InputError):
        return str(error), 2
    if hasattr(error, "format_message"):  # a usage error of typer's
        return _usage(error), 2
    if isinstance(error, OSError):
        if error.errno in _BAD_NAMES:
            return f"{str(error.filename)[:60]}...: {error.strerror}; expected another name", 2
        return str(error), 1
    return f"{type(error).__name__}: {error} (ZEROSNET_TRACEBACK=1 shows where)", 1


def _usage(error: Any) -> str:
    """Write a usage error as our own errors are written, and name the help to read."""
    where = "zerosnet" if error.ctx is None else error.ctx.command_path
    message = error.format_message().rstrip(".")
    if message.startswith("No such option"):
        wrong = error.option_name
        message = f"no such option: {wrong}{did_you_mean(wrong, option_names(error.ctx))}"
    elif message.startswith("No such command"):
        wrong = message.split("'")[1]
        message = f"no such command: {wrong}{did_you_mean(wrong, error.ctx.command.commands)}"
    return f"{message[:1].lower()}{message[1:]}; see {where} --help"


def option_names(context: Any) -> list[str]:
    """List the options of the command that a context belongs to."""
    return [name for parameter in context.command.params for name in parameter.opts if name.startswith("--")]


def _let_the_first_process_speak() -> None:
    """Wait, if this is a later process of a torchrun: the first one finds the same bad input, and its end ends all.

    Once processes have met (torch.distributed has begun) they tell each other what they find.
    """
    distributed = sys.modules.get("torch.distributed")
    have_met = distributed is not None and distributed.is_initialized()
    if "TORCHELASTIC_RUN_ID" in os.environ and os.environ.get("LOCAL_RANK", "0") != "0" and not have_met:
        time.sleep(TURN)


# the commands register themselves; they load what is heavy when they are called
from zerosnet.cli.commands import (  # noqa: E402, F401
    analyze,
    attack,
    compare,
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
    verify,
)
