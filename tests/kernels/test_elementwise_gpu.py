"""The kernels around the network's step on a device, held to plain torch."""

from functools import partial

import pytest
import torch
from tests.kernels.test_elementwise import optimizer

from zerosnet.data import gather
from zerosnet.kernels import native_gather
from zerosnet.training.fused.optimizer import Adam, Sgd, _update_flat

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]


@pytest.mark.parametrize("augmented", [False, True])
def test_batches_equal_those_of_plain_torch_on_the_cpu(augmented):
    rng = torch.Generator().manual_seed(1)
    images = torch.randint(256, (300, 3, 32, 32), generator=rng, dtype=torch.uint8)
    index = torch.randint(300, (10, 128), generator=rng)
    shifts = [torch.randint(-4, 5, index.shape, generator=rng, dtype=torch.int8) for _ in range(2)]
    flip = torch.randint(2, index.shape, generator=rng).bool()
    given = [images, index, *([*shifts, flip] if augmented else [None] * 3), torch.rand(3), torch.rand(3) + 0.1]
    expected = gather(*given, channels_last=True)
    found = native_gather(*(None if t is None else t.cuda() for t in given))
    assert torch.equal(found.cpu(), expected) and found.stride() == expected.stride()


@pytest.mark.parametrize("rule", [Sgd(0.9), Sgd(0.9, nesterov=True), Adam(0.9, 0.99)], ids=repr)
def test_updates_equal_those_of_plain_torch(rule):
    plain, native = optimizer(rule, False, "cuda"), optimizer(rule, True, "cuda")
    plain._update_flat = partial(_update_flat, rule)  # not compiled: every operation is rounded by itself
    rng = torch.Generator().manual_seed(2)
    for step in range(4):
        lr, alive = (
            torch.rand(3, generator=rng, dtype=torch.float64).cuda(),
            torch.tensor([True, step < 2, True]).cuda(),
        )
        gradients = [torch.randn(p.shape, generator=rng).cuda() for p in plain.flat.views(plain.flat.values)]
        for one in (plain, native):
            one.update(gradients, lr, alive)
    assert torch.equal(plain.flat.values, native.flat.values)
    assert all(map(torch.equal, plain.buffers, native.buffers))
