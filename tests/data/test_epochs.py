"""Plans of epochs without state, and the batches that are cut out by them."""

import pytest
import torch
import torchvision.transforms.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from zerosnet import InputError
from zerosnet.data import Augmentation, epoch_plan, gather, stack, stream, stream_seed


def test_stream_seeds_are_the_same_on_every_machine():
    assert stream_seed(1, "shuffle", 0) == 4026945476534407487
    assert stream_seed(1, "shuffle", 1) == 7061252234336077262


@given(st.integers(0, 2**63), st.text(max_size=9), st.integers(0, 10**6))
def test_stream_seeds_have_63_bits(seed, purpose, epoch):
    assert 0 <= stream_seed(seed, purpose, epoch) < 2**63


def test_purposes_and_positions_have_streams_of_their_own():
    keys = [(seed, purpose, epoch) for seed in range(10) for purpose in ("crop", "flip") for epoch in range(10)]
    draws = {tuple(torch.rand(2, generator=stream(*key)).tolist()) for key in keys}
    assert len(draws) == len(keys)


def test_a_stream_neither_reads_nor_moves_the_global_generator():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    torch.rand(1, generator=stream(0, "shuffle", 0))
    assert torch.equal(torch.rand(3), expected)


FULL = Augmentation(crop=4, flip=True)


def same(a, b):
    return all(torch.equal(getattr(a, name), getattr(b, name)) for name in ("order", "dy", "dx", "flip"))


def chi_square(counts):
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


@given(st.integers(0, 2**63 - 1), st.integers(0, 1000), st.integers(1, 200), st.integers(1, 200))
def test_an_epoch_uses_every_image_at_most_once_and_drops_the_partial_batch(seed, epoch, n, batch):
    if batch > n:
        with pytest.raises(InputError, match="batch"):
            epoch_plan(seed, epoch, n, batch=batch, augmentation=FULL)
        return
    plan = epoch_plan(seed, epoch, n, batch=batch, augmentation=FULL)
    assert plan.steps == n // batch
    assert plan.order.shape == plan.dy.shape == plan.dx.shape == plan.flip.shape == (n // batch * batch,)
    assert len(plan.order.unique()) == len(plan.order)
    assert int(plan.order.min()) >= 0 and int(plan.order.max()) < n


def test_a_plan_is_a_pure_function_of_seed_and_epoch():
    torch.manual_seed(1)
    first = epoch_plan(7, 3, 1000, batch=10, augmentation=FULL)
    torch.manual_seed(2)
    assert same(first, epoch_plan(7, 3, 1000, batch=10, augmentation=FULL))
    assert not same(first, epoch_plan(7, 4, 1000, batch=10, augmentation=FULL))
    assert not same(first, epoch_plan(8, 3, 1000, batch=10, augmentation=FULL))


def test_the_shuffle_does_not_depend_on_the_augmentation():
    plain, full = (epoch_plan(1, 0, 500, batch=10, augmentation=a) for a in (Augmentation(), FULL))
    assert torch.equal(plain.order, full.order)
    assert plain.dy is None and plain.dx is None and plain.flip is None


def test_offsets_and_flips_are_uniform_and_independent():
    plan = epoch_plan(1, 0, 200_000, batch=1000, augmentation=FULL)
    joint = ((plan.dy.long() + 4) * 9 + plan.dx.long() + 4) * 2 + plan.flip.long()
    counts = torch.bincount(joint, minlength=162)
    assert len(counts) == 162
    assert chi_square(counts.double()) < 228  # the 0.9996 quantile of chi-square with 161 degrees of freedom


def test_offsets_do_not_depend_on_the_image():
    first, second = (epoch_plan(1, epoch, 50_000, batch=100, augmentation=FULL) for epoch in (0, 1))
    a, b = (plan.dy[plan.order.argsort()].double() for plan in (first, second))
    assert abs(float(torch.corrcoef(torch.stack([a, b]))[0, 1])) < 4 / 50_000**0.5


def test_every_position_of_the_shuffle_is_uniform():
    firsts = torch.tensor([int(epoch_plan(s, 0, 10, batch=10, augmentation=FULL).order[0]) for s in range(2000)])
    assert chi_square(torch.bincount(firsts, minlength=10).double()) < 29.7  # 0.9995 quantile, 9 degrees of freedom


def test_stacked_plans_hold_each_replica_s_own_plan():
    plans = [epoch_plan(seed, 2, 103, batch=10, augmentation=FULL) for seed in (5, 6, 7)]
    stacked = stack(plans)
    assert stacked.order.shape == (10, 3, 10)
    for k, plan in enumerate(plans):
        assert torch.equal(stacked.order[:, k].reshape(-1), plan.order)
        assert torch.equal(stacked.flip[:, k].reshape(-1), plan.flip)


def test_replicas_that_cannot_share_a_step_are_refused():
    with pytest.raises(InputError, match="same batch"):
        stack([epoch_plan(1, 0, 100, batch=b, augmentation=FULL) for b in (10, 20)])
    with pytest.raises(InputError, match="same augmentation"):
        stack([epoch_plan(1, 0, 100, batch=10, augmentation=a) for a in (FULL, Augmentation())])


@pytest.mark.parametrize("arguments", [{"crop": -1}, {"crop": 1.5}, {"crop": True}, {"flip": 1}])
def test_bad_augmentation_is_refused(arguments):
    with pytest.raises(InputError, match=next(iter(arguments))):
        Augmentation(**arguments)


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
