"""Every code block of README and docs is run, or at least parsed where it says what it needs.

Python blocks of a page are run one after the other in one namespace, and a comment `# -> text` must be printed. Console
blocks are run in an empty folder a page, on tiny data, with one epoch; lines shown below a command must be in its
output. Commands with a comment `# needs ...` are parsed only.
"""

import io
import re
import shlex
import tomllib
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import typer
from tests.docs.blocks import PAGES, ROOT, Block, Command, blocks_of, commands_of

from zerosnet.cli.main import app, run

SHOWN_ONLY = {"json", "text", "bibtex"}
_EXPECTED = re.compile(r"# -> (.+)$", re.MULTILINE)


def pages_with(*languages: str) -> list[Path]:
    return [page for page in PAGES if any(block.language in languages for block in blocks_of(page))]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_every_block_names_its_language() -> None:
    for page in PAGES:
        for block in blocks_of(page):
            plain = block.language == "" and all(line.startswith("make ") for line in block.code.splitlines())
            assert plain or block.language in {"python", "console", *SHOWN_ONLY}, block.place


def test_there_are_blocks_to_run() -> None:
    languages = [block.language for page in PAGES for block in blocks_of(page)]
    assert languages.count("python") > 10 and languages.count("console") > 10


@pytest.mark.parametrize("page", pages_with("python"), ids=name)
def test_python_blocks_run_and_print_what_they_say(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "documentation"}
    for block in blocks_of(page):
        if block.language != "python":
            continue
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile("\n" * block.line + block.code, name(page), "exec"), namespace)
        printed = output.getvalue().splitlines()
        for expected in _EXPECTED.findall(block.code):
            assert expected.strip() in printed, f"{block.place}: {expected!r} is not in {printed}"
            printed = printed[printed.index(expected.strip()) + 1 :]


@pytest.mark.parametrize("page", pages_with("console", ""), ids=name)
def test_commands_run_and_show_what_they_say(
    page: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks_of(page):
        if block.title:
            Path(block.title).write_text(block.code, encoding="utf-8")
        for command in _commands(block):
            words = shlex.split(command.words)
            output = RUNNERS[words[0]](words[1:], command, tiny, capsys)
            flat = _flat(output)
            for line in command.shown:
                assert _flat(line) in flat, f"{block.place}: {line!r} is not in the output of {command.words!r}"


def _commands(block: Block) -> list[Command]:
    if block.language == "":
        return [Command(line.partition("#")[0].strip(), "", ()) for line in block.code.splitlines() if line.strip()]
    return commands_of(block) if block.language == "console" else []


def _flat(text: str) -> str:
    return " ".join(text.split())


# -- what stands at the beginning of a command -------------------------------------------------------------------------

Runner = Callable[[list[str], Command, Path, pytest.CaptureFixture[str]], str]


def _zerosnet(words: list[str], command: Command, data: Path, capsys: pytest.CaptureFixture[str]) -> str:
    words = [_placeholder(word, data) for word in words]
    if command.parsed_only:
        found = typer.main.get_command(app).commands[words[0]]  # type: ignore[attr-defined]
        found.make_context(words[0], words[1:])
        return ""
    if words[0] in ("train", "sweep") and "--epochs" not in words:
        words += ["--epochs", "1"]
    capsys.readouterr()
    code = run(words)
    out, err = capsys.readouterr()
    assert code == 0, f"{command.words}: {err}"
    return out


def _placeholder(word: str, data: Path) -> str:
    if word == "DIR":
        return str(data)
    if word == "RUN":
        return next(folder.name for folder in sorted(Path("runs").iterdir()) if "digits" in folder.name)
    return word


def _make(words: list[str], *_: object) -> str:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(words) <= set(targets), words
    return ""


def _pip(words: list[str], *_: object) -> str:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    wanted = [extra for group in re.findall(r"\[(.*?)\]", " ".join(words)) for extra in group.split(",")]
    assert words[0] == "install" and set(wanted) <= set(extras), words
    return ""


def _python(words: list[str], command: Command, *_: object) -> str:
    assert words[0] == "-m", words
    if words[1].startswith("tools."):
        named = [word for word in words[2:] if word.startswith("results/")]
        assert command.parsed_only and all(
            (ROOT / path).exists() for path in (words[1].replace(".", "/") + ".py", *named)
        )
        return ""
    assert words[1] == "benchmarks" and all((ROOT / f"benchmarks/{one}.py").exists() for one in words[2:])
    return ""


def _launcher(words: list[str], command: Command, data: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """torchrun, srun and sbatch end with a command of ours, perhaps in quotes."""
    assert command.parsed_only, command.words
    words = shlex.split(" ".join(words))
    return _zerosnet(words[words.index("zerosnet") + 1 :], command, data, capsys)


def _ray(words: list[str], command: Command, *_: object) -> str:
    assert command.parsed_only and words[0] == "start" and words[1] in ("--head", "--address"), command.words
    return ""


RUNNERS: dict[str, Runner] = {
    "zerosnet": _zerosnet,
    "make": _make,
    "pip": _pip,
    "python": _python,
    "torchrun": _launcher,
    "srun": _launcher,
    "sbatch": _launcher,
    "ray": _ray,
}
