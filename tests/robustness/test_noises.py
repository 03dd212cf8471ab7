import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from zerosnet.errors import InputError
from zerosnet.robustness.perturbations.noises import PAPER_NOISES, add_noise, constant, draw_field, gaussian, uniform

SHAPE = torch.Size((3, 8, 8))


def grey(count: int) -> torch.Tensor:
    return torch.full((count, *SHAPE), 0.5)


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(range(6)), size=st.integers(1, 6), noise=st.sampled_from([*PAPER_NOISES]))
def test_noise_depends_on_seed_and_index_only(order, size, noise):
    whole = add_noise(grey(6), noise)
    index = torch.tensor(order)
    parts = [add_noise(grey(len(i)), noise, index=i) for i in index.split(size)]
    assert torch.equal(torch.cat(parts), whole[index])


@pytest.mark.parametrize("index", [torch.arange(3), [0, 1]])
def test_places_in_the_data_set_are_whole_numbers_one_per_image(index):
    with pytest.raises(InputError, match=r"index is .* one place per image: 2"):
        add_noise(grey(2), gaussian(0.1), index=index)


def test_images_have_different_noises():
    field = draw_field("normal", torch.arange(50), SHAPE).flatten(1)
    assert len(field.unique(dim=0)) == 50
    assert (torch.corrcoef(field) - torch.eye(50)).abs().max() < 0.35
    assert not torch.equal(field, draw_field("normal", torch.arange(50), SHAPE, seed=2).flatten(1))


def test_one_sided_uniform_noise_stays_on_its_side_and_fills_its_range():
    noise = add_noise(grey(40), uniform(-0.08, 0)) - 0.5
    assert noise.min() >= -0.08 - 1e-6 and noise.max() <= 0
    assert noise.mean() == pytest.approx(-0.04, abs=1e-3)
    assert noise.std() == pytest.approx(0.08 / math.sqrt(12), rel=0.02)


def test_gaussian_noise_has_its_standard_deviation():
    noise = add_noise(grey(40), gaussian(0.04)) - 0.5
    assert noise.mean() == pytest.approx(0, abs=2e-3)
    assert noise.std() == pytest.approx(0.04, rel=0.02)


def test_constant_noise_is_a_grey_image():
    assert torch.equal(add_noise(grey(2), constant(0.3)), torch.full((2, *SHAPE), 0.8))


def test_levels_of_one_kind_share_their_field():
    one, two = (add_noise(grey(3), gaussian(delta)) - 0.5 for delta in (0.01, 0.02))
    torch.testing.assert_close(2 * one, two, atol=1e-6, rtol=0)


@given(st.sampled_from(PAPER_NOISES))
def test_noisy_images_stay_in_the_unit_interval(noise):
    images = torch.rand(4, *SHAPE, generator=torch.Generator().manual_seed(0)).round(decimals=1)
    noisy = add_noise(images, noise)
    assert noisy.min() >= 0 and noisy.max() <= 1


def test_the_paper_has_seventeen_levels_beside_the_clean_one():
    assert len(PAPER_NOISES) == 17 == len({noise.label for noise in PAPER_NOISES})
    assert {noise.field for noise in PAPER_NOISES} == {"uniform", "normal", None}


@pytest.mark.parametrize(
    ("make", "refused"),
    [(uniform, [(0.1, 0), (0, "a"), ([0], 1)]), (gaussian, [(-1,), (255,), ("a",)]), (constant, [(2,), (None,)])],
)
def test_levels_outside_the_scale_of_the_images_are_refused(make, refused):
    for levels in refused:
        with pytest.raises(InputError, match="expected"):
            make(*levels)


def test_bytes_get_the_noise_of_the_floats_they_stand_for():
    pixels = torch.randint(256, (3, *SHAPE), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    assert torch.equal(add_noise(pixels, gaussian(0.1)), add_noise(pixels.float() / 255, gaussian(0.1)))


@pytest.mark.parametrize("images", [255 * grey(2), grey(2) - 1, grey(2).long(), grey(2)[0]])
def test_images_outside_the_unit_interval_are_refused(images):
    with pytest.raises(InputError, match=r"expected (\[0, 1\]|uint8|\(N, C, H, W\))"):
        add_noise(images, constant(0.1))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("noise", PAPER_NOISES, ids=lambda n: n.label)
def test_noise_is_bit_identical_on_the_gpu(noise):
    assert torch.equal(add_noise(grey(8).cuda(), noise).cpu(), add_noise(grey(8), noise))
