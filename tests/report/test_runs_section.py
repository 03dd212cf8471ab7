import pytest

from zerosnet.experiments import RunEvidence
from zerosnet.report.page.runs_section import _commit, _marks


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"git": None}, "not recorded"),
        ({"git": {"commit": "ab", "dirty": True}}, "ab with uncommitted changes"),
        ({"git": {"commit": "ab", "dirty": False}}, "ab"),
        ({"git": {"commit": "ab", "dirty": None}}, "ab (it is not recorded whether files were changed)"),
    ],
)
def test_the_commit_is_named_with_what_is_known_of_changes(environment, words):
    assert _commit(environment) == words


def test_marks_are_counted_below_the_runs(tmp_path):
    environments = [{"git": None}, {"git": None}, {"git": {"commit": "ab", "dirty": True}}]
    runs = [RunEvidence(tmp_path, None, environment=one) for one in environments]
    text = "".join(map(str, _marks(runs)))
    assert "† uncommitted changes: 1 runs." in text and "° no commit recorded: 2 runs." in text
