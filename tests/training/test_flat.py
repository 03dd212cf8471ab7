"""Parameters in one piece of memory: what is written into a buffer of their layout lies where their views look."""

import pytest
import torch
from torch import Tensor, nn

from zerosnet.training.fused.optimizer import Flat

LAST = torch.channels_last
SHAPES = [(4, 3, 3, 3), (6, 1, 3, 3), (4, 5, 1, 1), (7,)]


@pytest.mark.parametrize("layout", [LAST, torch.contiguous_format])
def test_tensors_of_any_type_and_layout_fill_a_buffer(layout: torch.memory_format) -> None:
    def laid_out(tensor: Tensor, form: torch.memory_format) -> Tensor:
        return tensor.contiguous(memory_format=form) if tensor.dim() == 4 else tensor

    parameters = {str(n): nn.Parameter(laid_out(torch.randn(shape), layout)) for n, shape in enumerate(SHAPES)}
    flat = Flat(parameters, dict.fromkeys(parameters, 0), replicas=1)
    for other in (LAST, torch.contiguous_format):
        buffer, types = flat.empty(), [torch.bfloat16, torch.float32] * 2
        tensors = [laid_out(torch.randn(shape), other).to(dtype) for shape, dtype in zip(SHAPES, types)]
        flat.fill(buffer, tensors)
        for view, tensor in zip(flat.views(buffer), tensors):
            assert view.dtype is torch.float32 and torch.equal(view, tensor.float())
        assert buffer.count_nonzero() == sum(tensor.count_nonzero() for tensor in tensors), "nothing lies between them"


def test_a_gradient_that_is_one_number_repeated_is_written_out() -> None:
    parameters = {"weight": nn.Parameter(torch.randn(4, 3, 1, 1).contiguous(memory_format=LAST))}
    flat = Flat(parameters, {"weight": 0}, replicas=2)
    buffer = flat.empty()
    flat.fill(buffer, [torch.tensor(2.0).expand(4, 3, 1, 1)])
    assert torch.equal(flat.views(buffer)[0], torch.full((4, 3, 1, 1), 2.0))
