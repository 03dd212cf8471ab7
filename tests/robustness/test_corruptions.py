"""Regenerated corruptions, held to their definitions on single images by SciPy, by Pillow, or worked out by hand."""

import math
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import ndimage, stats
from tools.markdown_tables import benchmark

from zerosnet.errors import InputError
from zerosnet.robustness import CORRUPTIONS, corrupt
from zerosnet.robustness.corruptions import blur, digital, filters, noise, spatter, weather
from zerosnet.robustness.corruptions.draws import Draws

NAMES = list(CORRUPTIONS)
FIXED = [name for name, one in CORRUPTIONS.items() if not one.random]


@pytest.fixture(scope="module")
def images():
    """Smooth random images with some texture, so that filters have something to do."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(6, 3, 8, 8, generator=generator)
    smooth = torch.nn.functional.interpolate(coarse, size=32, mode="bicubic")
    return (255 * (smooth + 0.05 * torch.randn(6, 3, 32, 32, generator=generator)).clamp(0, 1)).byte()


def draws(purpose: str = "test", count: int = 1) -> Draws:
    return Draws(torch.arange(count), purpose)


def pixels(image: torch.Tensor) -> np.ndarray:
    return image.permute(1, 2, 0).numpy()


# -- all of them ------------------------------------------------------------------------------------------------------


def test_there_are_18_published_corruptions_and_a_generated_frost():
    assert [name for name, one in CORRUPTIONS.items() if not one.published] == ["frost_generated"]
    assert len(NAMES) == 19 and len(FIXED) == 8
    assert all(len(one.severities) == 5 for one in CORRUPTIONS.values())


@pytest.mark.parametrize("name", NAMES)
def test_an_image_is_corrupted_alike_in_every_batch_and_otherwise_at_another_index(images, name):
    together = corrupt(images, name, 3)
    places = torch.tensor([4, 1])
    assert torch.equal(corrupt(images[places], name, 3, index=places), together[places])
    elsewhere = corrupt(images[:1], name, 3, index=torch.tensor([9]))
    assert torch.equal(elsewhere, together[:1]) is (name in FIXED)
    assert together.dtype == torch.uint8 and not torch.equal(together, images)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"saturate", "elastic_transform", "spatter", "frost_generated"}))
def test_the_highest_severity_changes_more_than_the_lowest(images, name):
    mild, harsh = ((corrupt(images, name, s).float() - images).abs().mean() for s in (1, 5))
    assert harsh > 1.2 * mild


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.zeros(1, 3, 32, 32, dtype=torch.uint8), "rain", 1), "corruption is 'rain'"),
        ((torch.zeros(1, 3, 32, 32, dtype=torch.uint8), "glasblur", 1), r"'glasblur' \(did you mean glass_blur\?\)"),
        ((torch.zeros(1, 3, 32, 32, dtype=torch.uint8), "fog", 6), "severity is 6"),
        ((torch.zeros(1, 3, 32, 32, dtype=torch.uint8), "fog", 2.0), "severity is 2.0"),
        ((torch.zeros(1, 3, 32, 32), "fog", 1), "expected uint8"),
        ((torch.zeros(1, 1, 28, 28, dtype=torch.uint8), "fog", 1), "expected uint8"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        corrupt(*arguments)


@pytest.mark.parametrize(
    ("option", "value"),
    [*(("index", one) for one in (torch.arange(3), [0, 1], torch.tensor([0.0, 1.0]))), ("seed", "a"), ("seed", -1)],
)
def test_places_in_the_data_set_and_seeds_are_whole_numbers(option, value):
    with pytest.raises(InputError, match=rf"{option} is .*; expected a .*whole number"):
        corrupt(torch.zeros(2, 3, 32, 32, dtype=torch.uint8), "fog", 1, **{option: value})


def test_the_record_of_the_comparison_covers_all_and_no_value_differs_by_more_than_two():
    record = benchmark("corruptions")["corruptions"]
    assert set(record) == {name for name, one in CORRUPTIONS.items() if one.published}
    for name, row in record.items():
        for severity in row["severities"]:
            assert severity["equal"] > 0.98 and severity["most"] <= 2, name


# -- random numbers ---------------------------------------------------------------------------------------------------


def test_normal_numbers_are_normal_and_streams_are_independent():
    drawn = draws(count=40).normal("noise", 1000)
    assert stats.kstest(drawn.flatten().numpy(), "norm").pvalue > 0.01
    other = draws(count=40).normal("other", 1000)
    assert abs(np.corrcoef(drawn.flatten(), other.flatten())[0, 1]) < 0.02
    assert abs(np.corrcoef(drawn[0], drawn[1])[0, 1]) < 0.15


# -- noises -----------------------------------------------------------------------------------------------------------


def test_shot_noise_counts_are_quantiles_of_the_poisson_distribution():
    image = torch.arange(256, dtype=torch.float64).clamp_min(1).view(1, 1, 16, 16) / 255
    counts = noise.shot_noise(image, 50, draws()) * 50
    expected = stats.poisson.ppf(draws().uniform("count", 1, 16, 16).numpy(), 50 * image.numpy())
    assert np.array_equal(counts.round().numpy(), expected)


def test_impulse_noise_hits_the_stated_part_and_nothing_else():
    image = torch.full((20, 3, 32, 32), 0.5, dtype=torch.float64)
    found = noise.impulse_noise(image, 0.05, draws(count=20))
    assert (found != 0.5).double().mean() == pytest.approx(0.05, abs=0.005)
    assert (found == 1).double().mean() == pytest.approx(0.025, abs=0.004)
    assert set(found.unique().tolist()) == {0.0, 0.5, 1.0}


def test_speckle_noise_is_in_proportion_to_the_pixel():
    image = torch.full((1, 3, 32, 32), 0.25, dtype=torch.float64)
    speckle, gaussian = (make(image, 0.1, draws()) - image for make in (noise.speckle_noise, noise.gaussian_noise))
    torch.testing.assert_close(speckle, 0.25 * gaussian)


# -- blurs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("severity", [1, 5])
def test_gaussian_blur_is_scipys_to_the_pixel(images, severity):
    sigma = CORRUPTIONS["gaussian_blur"].severities[severity - 1][0]
    found = corrupt(images[:1], "gaussian_blur", severity)
    expected = ndimage.gaussian_filter(pixels(images[0]) / 255, (sigma, sigma, 0), mode="nearest", truncate=4)
    assert np.array_equal(pixels(found[0]), np.uint8(np.clip(expected, 0, 1) * 255))


def test_the_disc_of_defocus_blur_is_a_mean_over_its_pixels():
    disc = blur.disc(1.5, 0.1)
    assert disc.shape == (5, 5) and disc.sum() == pytest.approx(1)
    assert disc[1:4, 1:4].numpy() == pytest.approx(np.full((3, 3), 1 / 9), abs=1e-6)


def test_motion_blur_at_no_angle_averages_to_the_right():
    line = torch.zeros(1, 1, 5, 40, dtype=torch.float64)
    line[..., 20] = 1
    found = filters.along_a_line(line, 6, 2.0, torch.zeros(1))[0, 0, 2]
    weights = np.exp(-(np.arange(13) ** 2) / 8)
    assert found[8:21].flip(0).tolist() == pytest.approx((weights / weights.sum()).tolist())
    assert found[21:].sum() == 0, "it looks to one side only"


def test_zoom_blur_enlarges_as_scipy_does(images):
    image = pixels(images[0])[..., 0] / 255
    part = image[3:29, 3:29]
    expected = ndimage.zoom(part, 1.2500000000000002, order=1)[:32, :32]
    found = filters.zoomed(images[:1, :1].double() / 255, 1.2500000000000002)[0, 0]
    assert expected.shape == (32, 32) and found.numpy() == pytest.approx(expected, abs=1e-12)


def test_glass_blur_takes_every_pixel_from_itself_or_a_neighbour_above_or_left():
    places = torch.arange(1024, dtype=torch.float64).view(1, 1, 32, 32) % 251
    image = (places / 255).expand(1, 3, 32, 32)
    found = (blur.glass_blur(image, 0.05, 1, draws()) * 255).round()[0, 0]
    around = torch.stack([places[0, 0].roll((y, x), (0, 1)) for y in (0, 1) for x in (0, 1)])
    assert bool((found == around).any(0)[2:, 2:].all())
    assert torch.equal(found[:2], places[0, 0, :2]) and torch.equal(found[:, :2], places[0, 0, :, :2])
    assert 0.2 < (found == around[0])[2:, 2:].float().mean() < 0.3


# -- weather ----------------------------------------------------------------------------------------------------------


def test_a_plasma_fills_the_unit_interval_and_is_rougher_if_it_decays_less():
    smooth, rough = (weather.plasma(draws(count=8), 32, decay) for decay in (3.0, 1.5))
    for plasma in (smooth, rough):
        assert plasma.amin() == 0 and plasma.amax() == 1
    steps = [(p[:, 1:] - p[:, :-1]).abs().mean() for p in (smooth, rough)]
    assert steps[1] > 1.5 * steps[0]


def test_fog_keeps_the_brightest_pixel_within_range_and_lifts_the_darkest(images):
    image = images.double() / 255
    found = weather.fog(image, 1.0, 2.0, draws(count=6))
    assert bool((found.amax((1, 2, 3)) <= image.amax((1, 2, 3)) + 1e-12).all())
    assert found.amin() >= 0 and found.mean() > image.amin()


def test_snow_is_the_same_upside_down(images):
    black = torch.zeros_like(images)
    found = corrupt(black, "snow", 4)
    assert torch.equal(found, found.flip(-2, -1)) and found.float().std() > 5


# -- digital ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_pixelate_is_pillows_to_the_pixel(images, severity):
    small = int(32 * CORRUPTIONS["pixelate"].severities[severity - 1][0])
    image = Image.fromarray(pixels(images[0]))
    expected = image.resize((small, small), Image.Resampling.BOX).resize((32, 32), Image.Resampling.BOX)
    assert np.array_equal(pixels(corrupt(images[:1], "pixelate", severity)[0]), np.asarray(expected))


@pytest.mark.parametrize("severity", [1, 5])
def test_jpeg_is_pillows_to_the_pixel(images, severity):
    quality = CORRUPTIONS["jpeg_compression"].severities[severity - 1][0]
    for image, ours in zip(images, corrupt(images, "jpeg_compression", severity)):
        file = BytesIO()
        Image.fromarray(pixels(image)).save(file, "JPEG", quality=quality)
        assert np.array_equal(np.asarray(Image.open(file)), pixels(ours))


def test_colours_go_to_hue_saturation_and_value_and_back(images):
    import colorsys

    image = images[:1].double() / 255
    hsv = torch.stack(filters.to_hsv(image), 1)
    for y, x in ((0, 0), (5, 17), (31, 2)):
        assert hsv[0, :, y, x].tolist() == pytest.approx(colorsys.rgb_to_hsv(*image[0, :, y, x].tolist()))
    torch.testing.assert_close(filters.from_hsv(*hsv.unbind(1)), image)
    grey = torch.full((1, 3, 2, 2), 0.4, dtype=torch.float64)
    torch.testing.assert_close(filters.from_hsv(*filters.to_hsv(grey)), grey)


def test_contrast_and_brightness_are_their_formulas(images):
    image = images[:1].double() / 255
    mean = image.mean((2, 3), keepdim=True)
    torch.testing.assert_close(digital.contrast(image, 0.3, draws()), mean + 0.3 * (image - mean))
    brighter = digital.brightness(image, 0.1, draws())
    torch.testing.assert_close(brighter.amax(1), (image.amax(1) + 0.1).clamp_max(1))


def test_points_that_move_alike_move_the_image(images):
    image = images[:1].double() / 255
    moves = torch.tensor([[[3.0, 2.0]] * 3], dtype=torch.float64)
    torch.testing.assert_close(digital.affine(image, moves)[..., 2:, 3:], image[..., :-2, :-3])


def test_an_elastic_field_is_followed_as_scipy_follows_it(images):
    image = images[:1, :1].double() / 255
    y, x = (torch.arange(32.0).double().view(shape) + 3 * torch.randn(32, 32).double() for shape in ((32, 1), (1, 32)))
    expected = ndimage.map_coordinates(image[0, 0].numpy(), [y.numpy(), x.numpy()], order=1, mode="reflect")
    assert filters.sampled(image, y[None], x[None], "symmetric")[0, 0].numpy() == pytest.approx(expected, abs=1e-12)


# -- spatter ----------------------------------------------------------------------------------------------------------


def test_the_edge_of_a_square_is_found_and_a_faint_one_is_not():
    square = torch.zeros(2, 1, 16, 16, dtype=torch.float64)
    square[0, 0, 5:11, 5:11] = 200
    square[1, 0, 5:11, 5:11] = 10
    found = spatter.edges(square)[:, 0]
    assert not found[1].any() and 16 <= found[0].sum() <= 28
    assert not found[0, 7:9, 7:9].any() and not found[0, :3].any()


def test_the_distance_is_the_chamfer_distance_to_the_nearest_pixel():
    marked = torch.zeros(1, 1, 32, 32, dtype=torch.bool)
    marked[0, 0, 4, 6] = marked[0, 0, 20, 3] = True
    found = spatter.distance_to(marked)[0, 0]

    def chamfer(dy: int, dx: int) -> float:
        far, near = max(abs(dy), abs(dx)), min(abs(dy), abs(dx))
        straight, slanted, long = (spatter.STEPS[step] / 65536 for step in ((0, 1), (1, 1), (1, 2)))
        if far >= 2 * near:
            return long * near + straight * (far - 2 * near)
        return long * (far - near) + slanted * (2 * near - far)

    for y in range(0, 32, 3):
        for x in range(0, 32, 3):
            expected = min(chamfer(y - 4, x - 6), chamfer(y - 20, x - 3))
            if expected < spatter.FARTHEST:
                assert found[y, x] == pytest.approx(expected, abs=1e-4)
            else:
                assert found[y, x] >= spatter.FARTHEST - 1e-4
    assert bool((spatter.distance_to(torch.zeros_like(marked)) >= spatter.FARTHEST).all())


def test_a_histogram_is_spread_over_all_bytes():
    levels = torch.tensor([2.0, 2, 2, 5, 5, 9, 9, 9, 9, 20]).double().view(1, 1, 2, 5)
    found = spatter.equalized(levels).flatten()
    assert found.tolist() == [0, 0, 0, *[round(255 * 2 / 7)] * 2, *[round(255 * 6 / 7)] * 4, 255]
    assert spatter.equalized(torch.full((1, 1, 2, 2), 7.0).double()).unique().tolist() == [7.0]


def test_water_only_brightens_and_mud_covers(images):
    water, mud = (corrupt(images, "spatter", severity) for severity in (3, 5))
    assert bool((water.int() >= images.int() - 1).all()) and math.isfinite(float(water.float().mean()))
    changed = (mud.float() - images.float()).abs().amax(1) > 2
    brown = mud.permute(0, 2, 3, 1)[changed].float().mean(0)
    assert changed.any() and brown[0] > brown[1] > brown[2]
