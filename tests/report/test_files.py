"""Files of figures and pages are refused before anything is drawn, and written whole."""

import os
import stat

import pytest
from matplotlib.figure import Figure

from zerosnet.cli.main import run
from zerosnet.errors import InputError
from zerosnet.report import figure_file, save_figure, write_report

MAGIC = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("suffix", MAGIC)
def test_suffix_chooses_the_format_and_folders_are_made(tmp_path, suffix):
    target = save_figure(Figure(), tmp_path / "new" / f"figure{suffix}")
    assert target.read_bytes().startswith(MAGIC[suffix])
    assert [path.name for path in target.parent.iterdir()] == [f"figure{suffix}"]


@pytest.mark.parametrize("suffix", [".svg", ".pdf"])
def test_the_same_figure_is_the_same_file(tmp_path, suffix):
    first, second = (save_figure(Figure(), tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
    assert first == second


@pytest.mark.parametrize(
    "name", ["figure", "figure.gif", "figure.png.txt", "folder.png", "file.txt/figure.png", "a" * 300 + ".png"]
)
def test_an_unwritable_file_is_refused_in_one_line(tmp_path, name):
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "file.txt").write_text("here already")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="figure file") as error:
        figure_file(tmp_path / name)
    assert "\n" not in str(error.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_file_is_refused(tmp_path):
    target = tmp_path / "figure.png"
    target.write_bytes(b"old")
    target.chmod(0o400)
    with pytest.raises(InputError, match="cannot be written"):
        figure_file(target)


def test_a_failing_figure_leaves_the_old_file(tmp_path):
    class Broken:
        def savefig(self, path, **options):
            path.write_bytes(b"half")
            raise RuntimeError("out of ink")

    target = tmp_path / "figure.png"
    target.write_bytes(b"old")
    with pytest.raises(RuntimeError):
        save_figure(Broken(), target)
    assert target.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("target, words", [("page.txt", "suffix"), ("", "suffix"), ("folder.html", "folder")])
def test_a_target_that_cannot_be_a_page_is_bad_input(tmp_path, target, words):
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "runs").mkdir()
    with pytest.raises(InputError, match=words):
        write_report(tmp_path / target, [tmp_path / "runs"])


def test_an_unwritable_target_or_a_missing_store_is_one_line_and_exit_2(tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    (tmp_path / "file").write_text("")
    for store, target in (("runs", tmp_path / "file" / "report.html"), ("nothing", tmp_path / "report.html")):
        assert run(["report", str(tmp_path / store), "-o", str(target)]) == 2
        assert capsys.readouterr().err.count("\n") == 1 and not target.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_bad_input(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "sealed").mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(InputError, match="cannot be written"):
        write_report(tmp_path / "sealed" / "report.html", [tmp_path / "runs"])
