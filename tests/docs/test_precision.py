"""What the page about training says of precision, held to what runs record."""

from tests.docs.blocks import DOCS

from zerosnet.training.arithmetic import PRECISIONS
from zerosnet.training.fused.backend import NATIVE
from zerosnet.training.streamed.trainer import USUAL


def section() -> str:
    text = (DOCS / "train.md").read_text(encoding="utf-8")
    return " ".join(text.split("## Precision and kernels")[1].split("\n## ")[0].split())


def test_the_state_is_where_the_records_of_runs_say_it_is():
    text = section()
    assert NATIVE == "bf16 convolutions, state in two bf16 halves, its gradient in bf16"
    assert "in fp32 with plain PyTorch, in two bf16 halves with [kernels of our own](kernels.md)" in text
    assert (
        "the gradient of the state in bf16" in text and "`environment.json`, under `kernels` and `arithmetic`" in text
    )


def test_folders_of_images_have_the_precision_that_is_named():
    usual = PRECISIONS[USUAL]
    assert usual.state_dtype == usual.conv_dtype and f"keep the state in bf16 on a GPU (`{USUAL}`)" in section()
