import errno
import json
import os

import pytest

from zerosnet import InputError, files


def test_a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "a.json"
    files.write_json(path, {"a": 1})
    files.write_json(path, {"a": 2})
    assert files.read_json(path) == {"a": 2}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_when_writing_fails_the_old_file_stays(tmp_path, monkeypatch, where):
    path = tmp_path / "a.json"
    files.write_json(path, {"a": 1})

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os if where == "fsync" else type(path), where, full)
    with pytest.raises(OSError, match=r"No space left.*a\.json"):
        files.write_json(path, {"a": 2})
    monkeypatch.undo()
    assert files.read_json(path) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_content_and_folder_are_flushed_before_and_after_the_rename(tmp_path, monkeypatch):
    order = []
    fsync, replace = os.fsync, type(tmp_path).replace
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append(os.path.isdir(f"/proc/self/fd/{fd}")), fsync(fd)))  # noqa: PTH112
    monkeypatch.setattr(type(tmp_path), "replace", lambda a, b: (order.append("rename"), replace(a, b)))
    files.write_bytes(tmp_path / "a", b"x")
    assert order == [False, "rename", True]


def test_the_entries_of_new_folders_are_flushed(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(files, "sync", flushed.append)
    files.make_folder(tmp_path / "a" / "b")
    files.make_folder(tmp_path / "a" / "b")
    assert flushed == [tmp_path, tmp_path / "a"]
    assert (tmp_path / "a" / "b").is_dir()


def test_not_a_number_is_never_written_as_json(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        files.write_json(tmp_path / "a.json", {"loss": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_damaged_json_is_named(tmp_path):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({"a": 1})[:-1])
    with pytest.raises(InputError, match=r"spec\.json is damaged"):
        files.read_json(path)


def test_leftovers_of_a_killed_writer_are_removed(tmp_path):
    (tmp_path / f".a.json.1234{files.TEMPORARY}").write_text("half")
    (tmp_path / "b.json").write_text("{}")
    files.remove_temporaries(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["b.json"]


def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "result.json")
    with pytest.raises(InputError, match="a pipe or a device"):
        files.read_json(tmp_path / "result.json")
