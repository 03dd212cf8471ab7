"""Compiled kernels on disk: made once, checked when read, and never in the way."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from zerosnet.kernels import compile as compile_module
from zerosnet.kernels import nvrtc
from zerosnet.kernels.cache import remembered
from zerosnet.kernels.compile import AROUND, compile_unit
from zerosnet.kernels.nvrtc import compiler_versions


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROSNET_CACHE", str(tmp_path))
    return tmp_path / "kernels"


def unwanted() -> bytes:
    raise AssertionError("made again")


def test_an_entry_is_made_once(folder):
    assert remembered("key", lambda: b"binary") == b"binary"
    assert remembered("key", unwanted) == b"binary"
    assert remembered("other key", lambda: b"other") == b"other"


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_entry_is_made_anew(folder, damage):
    remembered("key", lambda: b"binary")
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"!" if damage is None else damage)
    assert remembered("key", lambda: b"binary") == b"binary"
    assert remembered("key", unwanted) == b"binary"


def test_threads_may_make_the_same_entry(folder):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: remembered("key", lambda: b"x" * 100_000), range(32)))
    assert set(found) == {b"x" * 100_000} and len(list(folder.iterdir())) == 1


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ZEROSNET_CACHE", str(tmp_path / "file"))
    assert remembered("key", lambda: b"binary") == b"binary"


def test_an_empty_folder_name_keeps_nothing(monkeypatch):
    monkeypatch.setenv("ZEROSNET_CACHE", "")
    assert remembered("key", lambda: b"binary") == b"binary" and remembered("key", lambda: b"new") == b"new"


@pytest.mark.parametrize("version", ["13.2.86", "13.2.90", None])
def test_another_nvrtc_compiles_anew(folder, tmp_path, monkeypatch, version):
    """Whether a package has it, with a version, or the system, with none that is known without loading it."""
    site, compiled = tmp_path / "site", []

    def installed(name: str | None) -> None:
        shutil.rmtree(site, ignore_errors=True)
        (site / "torch").mkdir(parents=True)
        if name is not None:
            (site / f"nvidia_cuda_nvrtc_cu13-{name}.dist-info").mkdir()
        nvrtc.nvrtc_package.cache_clear()

    monkeypatch.setattr(nvrtc, "_torch_folder", lambda: site / "torch")
    monkeypatch.setattr(nvrtc, "torch_versions", lambda: ("2.15", "13.2"))
    monkeypatch.setattr(compile_module, "compile_cuda", lambda *_: compiled.append(True) or b"code")
    for name in ("13.2.1", version, version):
        installed(name)
        compile_unit(AROUND, "90a")
    assert compiler_versions().endswith(f", NVRTC {version}") and len(compiled) == 2
    nvrtc.nvrtc_package.cache_clear()
