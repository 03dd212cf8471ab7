import pytest
import torch
from torch.nn import functional

from zerosnet.models import layers
from zerosnet.models.layers import Conv, initialise


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("on_cpu", [True, False])
def test_a_projection_with_stride_is_the_convolution_with_stride(layout, on_cpu, monkeypatch):
    monkeypatch.setattr(layers, "one_by_one", lambda _: on_cpu)
    conv = Conv(5, 6, 1, stride=2).double()
    initialise(conv, [0])
    x = torch.randn(2, 5, 7, 8, dtype=torch.float64).to(memory_format=layout).requires_grad_()
    torch.testing.assert_close(conv(x), functional.conv2d(x, conv.weight, stride=2))
    assert torch.autograd.gradcheck(conv, (x,))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_off_the_cpu_a_projection_gets_pixels_that_lie_together_in_the_layout_of_the_state(layout, monkeypatch):
    monkeypatch.setattr(layers, "one_by_one", lambda _: False)
    x = torch.randn(2, 5, 8, 8).to(memory_format=layout)
    pixels = layers._every(x, 2)
    assert torch.equal(pixels, x[:, :, ::2, ::2]) and pixels.is_contiguous(memory_format=layout)
