"""A kernel that may be launched early waits for the one ahead of it before it touches memory.

Read off the sources: no GPU is needed, only a preprocessor.
"""

import re

import pytest
import torch
from tests.kernels import every_kernel
from tests.kernels.fake_chip import install, preprocessed, signatures
from tests.kernels.host import needs_compiler

from zerosnet.kernels.cuda import CudaKernels
from zerosnet.kernels.native import WIDTHS

pytestmark = needs_compiler
WAIT = "wait_for_kernel_ahead();"
NEVER_EARLY = {"pack_weights", "add_weight_parts"}
PACKED = {"conv_forward": "weights", "conv_backward": "weights"}  # the kernel after the packing is never early


@pytest.mark.parametrize(("channels", "width"), WIDTHS)
def test_all_but_two_kernels_of_a_width_may_be_launched_early(monkeypatch, channels, width):
    chip = install(monkeypatch)
    every_kernel.of_width(CudaKernels(channels, width, 2, 2, torch.device("cpu")))
    assert {launch.name for launch in chip.launched if launch.early} == set(signatures(channels, width)) - NEVER_EARLY


@pytest.mark.parametrize(("channels", "width"), WIDTHS)
def test_a_kernel_that_is_launched_early_waits_before_it_touches_memory(channels, width):
    text = preprocessed(channels, width)
    for name in set(signatures(channels, width)) - NEVER_EARLY:
        assert before_the_wait(name, text) == set(), name


LAMBDA = "auto ask = [&](int b) { if (b < 3) { copy(x + b); return; } };"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"int k = blockIdx.y; {WAIT} float a = x[k];", set()),
        (f"float a = x[0]; {WAIT}", {"x"}),
        (f"load(weights, x); {WAIT}", {"weights", "x"}),
        (f"*out = 1; {WAIT}", {"out"}),
        (f"{LAMBDA} {WAIT} ask(0);", set()),
        (f"{LAMBDA} ask(0); {WAIT}", {"ask"}),
        (f"const Images images = {{x, weights}}; {WAIT}", set()),
        (f"const Images images = {{x, weights}}; ask(images); {WAIT}", {"images"}),
        (f"const float images[1] = {{x[0]}}; {WAIT}", {"x"}),
        (f"if (batch) return; {WAIT}", {"return"}),
        (f"if (batch) {WAIT}", {"a condition"}),
        (f"if (batch) {{ int k; {WAIT} }}", {"a condition"}),
        ("float a = x[0];", {"no wait"}),
        ("sum<1>(x, batch);", {"y"}),
    ],
)
def test_what_a_kernel_touches_before_it_waits_is_found(body, found):
    called = (
        f"template <int N>\n__device__ void sum(const float* __restrict__ y, int batch) {{ float a = y[0]; {WAIT} }}"
    )
    kernel = f'extern "C" __global__ void kernel(const bf16* x, const bf16* weights, bf16* out, int batch) {{ {body} }}'
    assert before_the_wait("kernel", f"{called}\n{kernel}") == found


def before_the_wait(kernel: str, text: str) -> set[str]:
    """What a kernel touches before it waits, itself or in the function it calls, and what leads around the wait."""
    parameters, body = function(kernel, text)
    if WAIT in body:
        return touched(parameters, body[: body.index(WAIT)])
    calls = re.finditer(r"\b(\w+)(?:<[^>]*>)?\(", body)
    for call in calls:
        if call[1] in functions_that_wait(text):
            inner, of_it = function(call[1], text)
            waits = touched(inner, of_it[: of_it.index(WAIT)]) - {PACKED.get(call[1])}
            return waits | touched(parameters, body[: call.start()])
    return {"no wait"}


def touched(parameters: str, before: str) -> set[str]:
    """Parameters that lead to memory, lambdas, and ways around the wait, in what comes before it.

    Addresses may be put into an array or a structure, which then leads to memory too.
    """
    before, lambdas = without_lambdas(before)
    found = {"a condition"} if before.count("{") != before.count("}") + 1 or before.strip()[-1] not in ";{}" else set()
    kinds = (one.strip() for one in parameters.split(","))
    memory = {words_of(re.sub(r"\[.*", "", one))[-1] for one in kinds if not re.match("int |double ", one)}
    for name, listed in re.findall(r"(\w+)(?:\[\d+\])? = \{([\w, ]*)\};", before):
        memory |= {name} if memory & set(words_of(listed)) else set()
    before = re.sub(r"\w+(\[\d+\])? = \{[\w, ]*\};", ";", before)
    return found | set(words_of(before)) & {*memory, *lambdas, "return"}


def words_of(text: str) -> list[str]:
    """The words of a text but for members: the y of blockIdx.y is none."""
    return re.findall(r"(?<!\.)\b\w+", text)


def without_lambdas(text: str) -> tuple[str, list[str]]:
    names = []
    while begin := re.search(r"auto (\w+) = \[&\]\([^)]*\) ", text):
        names.append(begin[1])
        text = text[: begin.start()] + text[begin.end() + len(block(text, begin.end())) :]
    return text, names


def functions_that_wait(text: str) -> list[str]:
    names = re.findall(r"^__device__ void (\w+)\(", text, re.M)
    return [name for name in names if WAIT in function(name, text)[1]]


def function(name: str, text: str) -> tuple[str, str]:
    """The parameters and the body of a function."""
    begin = re.search(rf"(?:__global__|__device__)[^;{{]*?\b{name}\(([^{{]*?)\)\s*(?={{)", text)
    return begin[1], block(text, begin.end())


def block(text: str, at: int) -> str:
    """The text from a brace to the one that closes it."""
    depth = 0
    for end, character in enumerate(text[at:], at):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            return text[at : end + 1]
    raise AssertionError("a brace is not closed")
