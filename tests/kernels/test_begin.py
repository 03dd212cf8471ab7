"""Compiling before PyTorch is there: what is begun, for which chips, and that nothing is compiled twice."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from zerosnet.kernels import begin_compiling, driver
from zerosnet.kernels import compile as compile_module
from zerosnet.kernels.chips import WIDTHS
from zerosnet.kernels.compile import AROUND, PIECES, KernelsUnavailable, _ask_for_all, _done, cancel_compiling


@pytest.fixture
def compiled(monkeypatch):
    """Machine code that is made of nothing; the units that were asked for, in order."""
    asked, lock = [], threading.Lock()

    def compile_unit(unit, instructions):
        with lock:
            asked.append((unit, instructions))
        return b"code"

    monkeypatch.setattr(compile_module, "compile_unit", compile_unit)
    monkeypatch.setattr(compile_module, "_UNDER_WAY", {})
    return asked


def machine(monkeypatch, *found):
    """A machine with GPUs of these kinds; the list of times that one was woken up."""
    woken = []
    monkeypatch.setattr(driver, "capabilities", lambda: list(found))
    monkeypatch.setattr(driver, "wake", lambda: woken.append(True))
    return woken


def test_a_machine_whose_gpu_has_kernels_compiles_every_piece_once(monkeypatch, compiled):
    woken = machine(monkeypatch, (9, 0))
    begin_compiling()
    assert _done(_ask_for_all(WIDTHS, "90a")) == [b"code"] * (len(WIDTHS) * len(PIECES) + 1)
    begin_compiling()
    assert len(set(compiled)) == len(compiled) == len(WIDTHS) * len(PIECES) + 1
    assert (AROUND, "90a") in compiled and woken


@pytest.mark.parametrize("found", [(), ((8, 0),), ((7, 5), (10, 0))])
def test_other_machines_compile_nothing(monkeypatch, compiled, found):
    woken = machine(monkeypatch, *found)
    begin_compiling()
    assert not compiled and not woken


@pytest.mark.parametrize("sizes", [[], [(8, 8)], [(28, 28), (64, 64)]])
def test_images_of_other_sizes_compile_nothing(monkeypatch, compiled, sizes):
    woken = machine(monkeypatch, (9, 0))
    begin_compiling(sizes)
    assert not compiled and not woken
    begin_compiling([*sizes, (32, 32)])
    assert _done(_ask_for_all(WIDTHS, "90a")) and woken


def test_what_waits_for_a_thread_is_cancelled_and_can_be_asked_for_again(monkeypatch, compiled):
    machine(monkeypatch, (9, 0), (9, 0))
    begun, go_on, quick = threading.Event(), threading.Event(), compile_module.compile_unit

    def slow(*given):
        begun.set()
        go_on.wait()
        return quick(*given)

    with ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(compile_module, "_pool", lambda: pool)
        monkeypatch.setattr(compile_module, "compile_unit", slow)
        begin_compiling()
        begun.wait()
        cancel_compiling()
        go_on.set()
    assert len(compiled) == 1
    with ThreadPoolExecutor(1) as pool:
        assert _done(_ask_for_all(WIDTHS, "90a")) == [b"code"] * (len(WIDTHS) * len(PIECES) + 1)
    assert len(set(compiled)) == len(compiled) == len(WIDTHS) * len(PIECES) + 1


def test_several_gpus_are_not_woken_up(monkeypatch, compiled):
    woken = machine(monkeypatch, (9, 0), (9, 0))
    begin_compiling()
    assert _done(_ask_for_all(WIDTHS, "90a")) and not woken


def test_what_failed_is_tried_anew(monkeypatch, compiled):
    good = compile_module.compile_unit

    def fail(*_):
        raise OSError("not yet there")

    monkeypatch.setattr(compile_module, "compile_unit", fail)
    with pytest.raises(KernelsUnavailable, match="not yet there"):
        _done(_ask_for_all(WIDTHS, "90a"))
    monkeypatch.setattr(compile_module, "compile_unit", good)
    assert _done(_ask_for_all(WIDTHS, "90a"))


def test_a_machine_without_nvidias_libraries_has_no_gpus(monkeypatch):
    monkeypatch.setattr(driver, "NVML", "no-such-library.so")
    monkeypatch.setattr(driver, "DRIVER", "no-such-library.so")
    assert driver.capabilities() == []
    driver.wake().join()


def test_the_compiler_is_found_without_importing_torch():
    text = (
        "import sys\nfrom zerosnet.kernels import begin_compiling\n"
        "from zerosnet.kernels.nvrtc import compiler_versions\n"
        "begin_compiling()\nassert 'torch' not in sys.modules\nprint(compiler_versions())\n"
        "from zerosnet.kernels.nvrtc import library\nassert not library.cache_info().currsize"
    )
    printed = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
    import torch

    assert printed.startswith(f"torch {torch.__version__}, CUDA {torch.version.cuda}, driver ")
