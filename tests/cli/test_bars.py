"""Progress bars of commands that measure."""

import sys

from zerosnet.cli.drawings import Bars


def test_a_bar_on_a_terminal_has_a_label_and_stops_at_its_end(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with Bars() as bars:
        advance = bars.add("pgd-whitebox: 2 x net [on digits]", 10)
        advance(4)
        (task,) = bars._shown.tasks
        assert task.percentage == 40
        advance(20)
        assert task.percentage == 100
        bars.report("a line")
    printed = capsys.readouterr().err
    assert "a line" in printed and "[on digits]" in printed


def test_elsewhere_there_are_lines_only(capsys):
    with Bars() as bars:
        bars.add("label", 10)(5)
        bars.report("a line")
    assert capsys.readouterr().err == "a line\n"
