import pytest
import torch
import torchvision.transforms.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from zerosnet.data import gather

MEAN, STD = torch.tensor([0.4914, 0.4822, 0.4465]), torch.tensor([0.2470, 0.2435, 0.2616])


def random_images(n, channels=3, height=32, width=32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n, channels, height, width), dtype=torch.uint8, generator=generator)


def per_image(image, dy, dx, flip, crop, mean, std):
    """The usual pipeline for one image, written with torchvision's functions."""
    height, width = image.shape[1:]
    result = F.crop(F.pad(image, [crop] * 4, fill=0), crop + dy, crop + dx, height, width)
    if flip:
        result = F.hflip(result)
    return F.normalize(result.float() / 255, mean, std)


@pytest.mark.parametrize("channels_last", [False, True])
def test_every_offset_and_flip_equals_the_per_image_pipeline(channels_last):
    crop = 4
    cases = [(dy, dx, flip) for dy in range(-crop, crop + 1) for dx in range(-crop, crop + 1) for flip in (False, True)]
    images = random_images(len(cases))
    dy, dx = (torch.tensor([[case[i] for case in cases]], dtype=torch.int8) for i in (0, 1))
    flip = torch.tensor([[case[2] for case in cases]])
    index = torch.arange(len(cases)).view(1, -1)
    result = gather(images, index, dy, dx, flip, MEAN, STD, channels_last=channels_last)
    for i, case in enumerate(cases):
        assert torch.equal(result[i], per_image(images[i], *case, crop, MEAN, STD))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_replicas_are_gathered_as_if_each_were_alone(data):
    replicas, batch, channels = (data.draw(st.integers(1, most)) for most in (4, 5, 3))
    height, width = data.draw(st.integers(2, 9)), data.draw(st.integers(2, 9))
    channels_last = data.draw(st.booleans())
    images = random_images(6, channels, height, width)
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 99)))
    shape = (replicas, batch)
    index = torch.randint(6, shape, generator=generator)
    dy, dx = (torch.randint(-2, 3, shape, generator=generator, dtype=torch.int8) for _ in range(2))
    flip = torch.randint(2, shape, generator=generator).bool()
    mean, std = torch.linspace(0.1, 0.3, channels), torch.linspace(0.2, 0.5, channels)
    fused = gather(images, index, dy, dx, flip, mean, std, channels_last=channels_last)
    assert fused.shape == (batch, replicas * channels, height, width)
    for k in range(replicas):
        rows = slice(k, k + 1)
        alone = gather(images, index[rows], dy[rows], dx[rows], flip[rows], mean, std)
        assert torch.equal(fused[:, k * channels : (k + 1) * channels], alone)


def test_without_augmentation_images_are_only_normalised():
    images = random_images(4)
    result = gather(images, torch.tensor([[2, 0]]), None, None, None, MEAN, STD)
    assert torch.equal(result, F.normalize(images[[2, 0]].float() / 255, MEAN, STD))


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("augmented", [False, True])
def test_result_has_the_memory_format_asked_for(channels_last, augmented):
    index = torch.zeros(2, 3, dtype=torch.int64)
    offsets = index.to(torch.int8) if augmented else None
    flip = index.bool() if augmented else None
    result = gather(random_images(1), index, offsets, offsets, flip, MEAN, STD, channels_last=channels_last)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    assert result.is_contiguous(memory_format=layout)


def test_padding_is_black_before_normalisation():
    images = torch.full((1, 3, 8, 8), 255, dtype=torch.uint8)
    far = torch.tensor([[4]], dtype=torch.int8)
    corner = gather(images, torch.tensor([[0]]), far, far, None, MEAN, STD)[0, :, -1, -1]
    assert torch.equal(corner, -MEAN / STD)


def test_double_precision_is_computed_in_double():
    images = random_images(1)
    result = gather(images, torch.tensor([[0]]), None, None, None, MEAN.double(), STD.double(), dtype=torch.float64)
    assert result.dtype == torch.float64
    expected = (images.double() / 255 - MEAN.double().view(3, 1, 1)) / STD.double().view(3, 1, 1)
    assert torch.equal(result, expected)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_compiled_and_captured_gather_equals_the_plain_one():
    images = random_images(64).cuda()
    index = torch.randint(64, (3, 16), device="cuda")
    dy, dx = (torch.randint(-4, 5, (3, 16), device="cuda", dtype=torch.int8) for _ in range(2))
    flip = torch.randint(2, (3, 16), device="cuda").bool()
    arguments = (images, index, dy, dx, flip, MEAN.cuda(), STD.cuda())
    plain = gather(*arguments, channels_last=True)
    compiled = torch.compile(gather, dynamic=False, fullgraph=True)
    torch.testing.assert_close(compiled(*arguments, channels_last=True), plain, rtol=0, atol=1e-6)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = compiled(*arguments, channels_last=True)
    index.copy_(index.flip(1))
    graph.replay()
    expected = gather(images, index, dy, dx, flip, MEAN.cuda(), STD.cuda())
    torch.testing.assert_close(captured, expected, rtol=0, atol=1e-6)
