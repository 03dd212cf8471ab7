"""A training option is declared once, and wrong ones are reported without torch."""

import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from tests.best import best_of
from typer.testing import CliRunner

from zerosnet.cli.commands.reproduce import reproduce
from zerosnet.cli.commands.sweep import sweep
from zerosnet.cli.commands.train import train
from zerosnet.cli.main import run
from zerosnet.cli.options import with_fields
from zerosnet.training import Options, RunSpec, SaveInterval, recipe


@dataclass(frozen=True)
class MoreOptions(Options):
    warm_start: Annotated[int, "Begin with so many steps."] = 7


@pytest.mark.parametrize("command", [train, sweep, reproduce])
def test_a_new_field_is_an_option_of_every_command_that_trains(command, monkeypatch):
    function = command.__wrapped__
    monkeypatch.setitem(function.__annotations__, "options", MoreOptions)
    app = typer.Typer(rich_markup_mode=None)
    app.command()(with_fields(function))
    shown = CliRunner().invoke(app, ["--help"]).output
    assert "--warm-start" in shown and "Begin with so many steps." in shown and "[default: 7]" in shown
    assert "--deterministic" in shown and "--micro-batch" in shown


def test_fields_are_handed_over_as_one_object():
    given = []

    def command(name: str = "a", *, options: MoreOptions) -> None:
        given.append((name, options))

    app = typer.Typer()
    app.command()(with_fields(command))
    words = "--warm-start 3 --checkpoint-every 5 --log tensorboard --sync-bn --deterministic --name b"
    assert CliRunner().invoke(app, words.split(), catch_exceptions=False).exit_code == 0
    ((name, options),) = given
    assert (name, options.warm_start, options.checkpoint_every) == ("b", 3, SaveInterval(epochs=5))
    assert options.log == ("tensorboard",) and options.stream.sync_bn and options.deterministic


WRONG = {
    "--dataset letters": "dataset is 'letters'",
    "--dataset digits --recipe best": "recipe is 'best'",
    "--dataset digits --scheme nonsense": "scheme: unknown family 'nonsense'",
    "--dataset digits --kernels best": "kernels is 'best'",
    "--dataset digits --engine slurm": "engine is 'slurm'",
    "--dataset digits --device tpu": "device is 'tpu'",
    "--dataset digits --precision fp8": "precision is 'fp8'",
    "--dataset digits --seed -1": "seed is -1",
    "--dataset digits --epochs 0": "epochs is 0",
    "--dataset digits --max-seconds 0": "max-seconds is 0.0",
    "--dataset digits --checkpoint-every often": "checkpoint-every is 'often'",
    "--dataset digits --log paper": "log is 'paper'",
    "--dataset digits --lr -1": "lr is -1.0",
    "--dataset digits": "zerosnet20 needs a scheme",
    "--dataset cifar10 --scheme 1;1": "--data DIR",
    "--datset digits": "no such option: --datset (did you mean --dataset?)",
}
WRONG_NAMES = {
    "train zerosnet20_op --dataset digits": "unknown model 'zerosnet20_op' (did you mean zerosnet20_opt?)",
    "train zerosnet21 --dataset digits --scheme 1;1": "unknown model 'zerosnet21' (did you mean zerosnet20?)",
    "train zerosnet20_opt --dataset digits --scheme 1;1": "zerosnet20_opt takes no scheme",
    "train preresnet20 --dataset digits --scheme leapfrog": "expected 1, or use the bare zerosnet",
    "trian": "no such command: trian (did you mean train?)",
    "attack run --protocol pgd-whitebox --eps 8": "eps is '8' (8/255?)",
}
ASK = """
import contextlib, io, json, sys
from zerosnet.cli.main import run
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stderr(io.StringIO()) as printed:
        code = run(words.split())
    print(json.dumps([code, sorted({"torch", "torchvision"} & set(sys.modules)), printed.getvalue()]))
"""


def test_wrong_arguments_of_train_are_reported_without_loading_torch(tmp_path):
    asked = {f"train zerosnet20 {words}": message for words, message in WRONG.items()} | WRONG_NAMES
    command = [sys.executable, "-c", ASK, json.dumps(list(asked))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    for message, answer in zip(asked.values(), done.stdout.splitlines(), strict=True):
        code, loaded, printed = json.loads(answer)
        assert (code, loaded) == (2, []) and message in printed and printed.count("\n") == 1, message
    assert not list(tmp_path.iterdir())


FIRST_LINE = """
import sys
from zerosnet.cli.main import run
import zerosnet.cli.options
from zerosnet.cli.commands import attack, diagnose, evaluate
def announce(line):
    print(line, sorted({"torch", "torchvision"} & set(sys.modules)))
    raise KeyboardInterrupt
for module in (zerosnet.cli.options, attack, diagnose, evaluate):
    module.announce = announce
run(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("train zerosnet20_opt --dataset digits", "1 run of zerosnet20_opt on digits, recipe paper, kept in runs"),
        ("diagnose zerosnet20_opt", "diagnosing zerosnet20_opt"),
        ("evaluate zerosnet20_opt.cifar10 --data .", "evaluating zerosnet20_opt.cifar10"),
        ("attack zerosnet20_opt.cifar10 --protocol paper-noise", "paper-noise on zerosnet20_opt.cifar10"),
    ],
)
def test_the_first_line_comes_before_torch_is_loaded(words, line, tmp_path):
    command = [sys.executable, "-c", FIRST_LINE, *words.split()]
    printed = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout
    assert printed.startswith(line) and printed.endswith(" []\n")


@pytest.mark.timing
def test_a_wrong_argument_is_reported_in_half_a_second_of_the_processor(tmp_path):
    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = ["train", "zerosnet20_op", "--dataset", "digits"]
        subprocess.run([sys.executable, "-m", "zerosnet", *words], capture_output=True, cwd=tmp_path)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert best_of(9, once, 0.5) < 0.5


def test_the_command_line_puts_four_frames_above_the_training(tmp_path, monkeypatch):
    from zerosnet import __main__
    from zerosnet.training import Local

    found = []

    def note(*arguments):
        frame = sys._getframe(1)
        while frame is not None:
            if "/zerosnet/" in frame.f_code.co_filename:
                found.append(frame.f_code.co_name)
            frame = frame.f_back
        raise typer.Exit

    monkeypatch.setattr(Local, "train", note)
    monkeypatch.setattr(sys, "argv", ["zerosnet", "train", "zerosnet20_opt", "--dataset", "digits"])
    with pytest.raises(SystemExit):
        __main__.main()
    assert found == ["train", "command", "run", "main"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["train", "zerosnet20_opt", "--dataset", "cifar10"], [[(32, 32)]]),
        (["train", "zerosnet20_opt", "--dataset", "mnist"], [[(28, 28)]]),
        (["train", "zerosnet20_opt", "--dataset", "cifar10", "--kernels", "torch"], []),
        (["train", "zerosnet20_opt", "--dataset", "cifar10", "--device", "cpu"], []),
        (["train", "zerosnet18_opt", "--dataset", "imagefolder@32", "--recipe", "imagenet"], [[]]),
        (["sweep", "sweep.json"], [[(32, 32)]]),
        (["sweep", "sweep.json", "--dry-run"], []),
    ],
)
def test_kernels_are_begun_for_images_that_will_be_trained_and_cancelled_if_that_fails(
    words, expected, tmp_path, monkeypatch
):
    begun, cancelled = [], []
    monkeypatch.setattr("zerosnet.kernels.compile.begin_compiling", begun.append)
    monkeypatch.setattr("zerosnet.kernels.begin_compiling", begun.append)
    monkeypatch.setattr("zerosnet.kernels.compile.cancel_compiling", lambda: cancelled.append(True))
    monkeypatch.chdir(tmp_path)
    spec = RunSpec("zerosnet20_opt", "cifar10", recipe("quick", "cifar10"), 1)
    (tmp_path / "sweep.json").write_text(json.dumps([spec.to_json()]))
    assert run([*words, "--data", "nowhere"]) == 2
    assert begun == expected and cancelled
