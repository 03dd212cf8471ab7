"""Commands print as wide as they do into a pipe, wherever the tests run."""

import pytest


@pytest.fixture(autouse=True)
def plain_width(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
