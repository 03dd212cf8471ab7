"""Parts of the CUDA sources compiled as plain C++, to be called from tests where there is no GPU."""

import ctypes
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile parts of the sources")


CHIP = """#include <cmath>
#include <cstddef>
#define __restrict__
#define __launch_bounds__(...)
#define __shared__ static
struct Index { int x, y; };
struct uint4 { unsigned x, y, z, w; };
struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
static Index blockIdx, threadIdx, gridDim;
using bf16 = unsigned short;
enum { SCALE, SHIFT, MEAN, RSTD };
enum { GAIN, SLOPE, CENTRE, OFFSET };
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
inline float __shfl_xor_sync(unsigned, float v, int) { return v; }
inline void __syncthreads() {}
inline void wait_for_kernel_ahead() {}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
union Word { unsigned bits; float number; };
inline unsigned rounded(float number) {  // to the nearest bf16, of two the even one
  Word v;
  v.number = number;
  return (v.bits + 0x7fff + ((v.bits >> 16) & 1)) >> 16;
}
inline unsigned pack(float low, float high) { return rounded(low) | rounded(high) << 16; }
inline uint4 pack8(const float (&f)[8]) {
  return {pack(f[0], f[1]), pack(f[2], f[3]), pack(f[4], f[5]), pack(f[6], f[7])};
}
inline float wide(unsigned half) { Word v; v.bits = half << 16; return v.number; }
inline void unpack8(float (&f)[8], uint4 v) {
  const unsigned words[4] = {v.x, v.y, v.z, v.w};
  for (int j = 0; j < 8; j++) f[j] = wide(j % 2 ? words[j / 2] >> 16 : words[j / 2] & 0xffff);
}
"""
"""What the kernels that need neither shared memory nor their neighbours ask of a chip."""


def read_source(name: str) -> str:
    return (files("zerosnet.kernels") / "source" / name).read_text()


def function_of(name: str, text: str) -> str:
    """A function as it stands in the sources, with what precedes its name."""
    pattern = rf'^(?:extern "C" )?(?:__global__|__device__)[^;{{]*?\b{name}\(.*?^}}$'
    return re.search(pattern, text, re.M | re.S).group()


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
