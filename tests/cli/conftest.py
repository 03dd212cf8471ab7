"""Commands print as wide as they do into a pipe, wherever the tests run; what is refused is refused in one way."""

from collections.abc import Callable

import pytest

from zerosnet.cli.main import run


@pytest.fixture(autouse=True)
def plain_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command; its exit code, stdout and stderr."""

    def call(*words: object) -> tuple[int, str, str]:
        code = run([str(word) for word in words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return call


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Run a command that has to be refused: exit code 2, nothing on stdout, one line on stderr with all these texts."""

    def refuse(words: list[str] | tuple[str, ...], *texts: str) -> None:
        code = run(list(words))
        out, err = capsys.readouterr()
        assert (code, out) == (2, "")
        assert err.startswith("zerosnet: ") and err.count("\n") == 1
        assert [text for text in texts if text not in err] == [], err

    return refuse
