"""Parts of the CUDA sources compiled as plain C++, to be called from tests where there is no GPU."""

import ctypes
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile parts of the sources")


def read_source(name: str) -> str:
    return (files("zerosnet.kernels") / "source" / name).read_text()


def compile_for_host(source: str, folder: Path, channels: int, width: int) -> ctypes.CDLL:
    (folder / "part.cpp").write_text(source)
    definitions = ["-D__device__=", "-D__global__=", "-D__forceinline__=inline"]
    definitions += [f"-DCHANNELS={channels}", f"-DWIDTH={width}"]
    command = [
        "g++",
        "-std=c++17",
        "-O1",
        "-shared",
        "-fPIC",
        *definitions,
        "-o",
        folder / "part.so",
        folder / "part.cpp",
    ]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(folder / "part.so"))
