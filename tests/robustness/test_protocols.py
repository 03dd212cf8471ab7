import json

import numpy as np
import pytest
import torch
from tests.robustness.attackable import small_convolution

from zerosnet.errors import InputError
from zerosnet.robustness import (
    PROTOCOLS,
    Normalised,
    ProtocolOptions,
    ProtocolResult,
    corrupt,
    find_corruptions,
    protocol,
    read_radius,
    run_protocol,
    subject,
)

ON_PAIR = ["paper-noise", "paper-fgsm", "paper-pgd", "pgd-whitebox"]


@pytest.fixture(scope="module")
def results(pair):
    return {name: run_protocol(name, pair, ProtocolOptions(restarts=1)) for name in ON_PAIR}


@pytest.mark.parametrize("name", ON_PAIR)
def test_a_protocol_gives_one_result_per_network_that_survives_json(results, name):
    assert len(results[name]) == 2
    for result in results[name]:
        assert ProtocolResult.from_json(json.loads(json.dumps(result.to_json()))) == result
        assert all(row.accuracy == row.correct / row.images for row in result.rows)


def test_paper_noise_has_all_eighteen_settings(results):
    rows = results["paper-noise"][0].rows
    assert len(rows) == 18 and rows[0].method == "clean"
    accuracies = {row.label: row.accuracy for row in rows}
    assert accuracies["constant -0.4"] < rows[0].accuracy
    assert results["paper-noise"][0].checks == ()


def test_paper_fgsm_halves_the_papers_eps(results):
    rows = [row for row in results["paper-fgsm"][0].rows if row.method == "fgsm"]
    assert [(row.eps, row.settings["eps_signed"]) for row in rows] == [(0.075, 0.15), (0.15, 0.3), (0.25, 0.5)]


def test_paper_fgsm_runs_on_a_hundred_images_and_on_all(networks, digits):
    target = subject(Normalised(networks[0], (0.3,), (0.4,)), digits.images[:150], digits.labels[:150])
    (result,) = run_protocol("paper-fgsm", target)
    assert [row.images for row in result.rows if row.method == "fgsm"] == [100] * 3 + [150] * 3


def test_paper_pgd_is_a_transfer_test_with_white_box_numbers_beside_it(results):
    rows = results["paper-pgd"][0].rows
    transfer = [row for row in rows if row.method == "transfer"]
    assert [row.eps for row in transfer] == [3 / 255, 5 / 255, 8 / 255]
    assert all(row.access == "black-box" and row.reach == pytest.approx(7 / 4 * row.eps) for row in transfer)
    assert not any(row.settings["projection"] or row.settings["random_start"] for row in transfer)
    assert {row.method for row in rows if row.access == "white-box"} >= {"pgd-7 unprojected", "pgd-20", "fgsm"}


def test_whitebox_pgd_has_its_settings(results):
    pgd = [row for row in results["pgd-whitebox"][0].rows if row.method in ("pgd-20", "pgd-50")]
    assert [(row.settings["steps"], row.eps) for row in pgd] == [
        (steps, eps / 255) for steps in (20, 50) for eps in (0.25, 0.5, 1, 2, 3, 5, 8)
    ]
    assert all(row.settings["step"] == row.eps / 4 and row.settings["restarts"] == 1 for row in pgd)


def test_white_box_attacks_make_five_restarts_unless_told_otherwise(pair):
    result = run_protocol("pgd-whitebox", pair.chosen(2), ProtocolOptions(eps=(0.5 / 255, 8 / 255)))[0]
    assert {row.settings["restarts"] for row in result.rows if row.method.startswith("pgd")} == {5}


@pytest.mark.parametrize(("name", "made"), [("paper-fgsm", 6), ("paper-pgd", 6), ("pgd-whitebox", 7)])
def test_sound_attacks_on_plain_networks_pass_their_checks(results, name, made):
    """Only pgd-whitebox has an attack with two numbers of steps."""
    for result in results[name]:
        assert result.warnings == []
        assert sum(check.passed is True for check in result.checks) == made
        assert all("more steps" in check for check in result.not_made)


def test_a_known_accuracy_that_differs_is_a_warning(pair):
    few = subject(pair.model, pair.images[:8], pair.labels[:8], surrogate=pair.surrogate)
    results = run_protocol("paper-fgsm", few, known=[1.0, 0.2])
    assert not any("clean" in w for w in results[0].warnings) and any("clean" in w for w in results[1].warnings)


def test_fewer_images_by_option(pair):
    result = run_protocol("paper-noise", pair, ProtocolOptions(images=5))[0]
    assert {row.images for row in result.rows} == {5} and result.settings == {"images": 5, "of": 64, "classes": 10}


def test_what_a_smaller_radius_has_fooled_counts_at_larger_ones(pair, monkeypatch):
    """An attack that finds something at its first radius only leaves no more at the next ones."""
    from zerosnet.robustness.protocols import measures

    asked = []

    def weak(target, attack, resisting):
        asked.append(int(resisting.sum()))
        return resisting & (torch.arange(len(target))[:, None] % 2 == 0) if len(asked) == 1 else resisting.clone()

    monkeypatch.setattr(measures, "under_attack", weak)
    attacks = [measures.pgd(eps, 20) for eps in (8 / 255, 1 / 255, 3 / 255)]
    rows = measures.rising(pair, "pgd-20", attacks, measures.clean(pair))
    assert [row.eps for row in rows] == [1 / 255, 3 / 255, 8 / 255]
    assert asked[0] > asked[1] == asked[2] == int(rows[2].right.sum())
    assert all(row.settings["keeps_smaller_radii"] for row in rows)


def test_an_attack_that_steps_too_far_leaves_no_more_at_a_larger_radius():
    """Where the loss goes up and down again, one long step jumps over what a short one finds."""
    from zerosnet.robustness.protocols import measures

    class Waves(torch.nn.Module):
        def forward(self, images):
            margin = torch.cos(2 * torch.pi * (images.flatten(1)[:, :1] - 0.499) / 0.1)  # wrong half a period away
            return torch.cat([margin, -margin], 1)

    target = subject(Waves(), torch.full((4, 1, 1, 1), 0.5), torch.zeros(4, dtype=torch.int64))
    start, attacks = measures.clean(target), [measures.fgsm(eps) for eps in (0.05, 0.1)]
    alone = [int(measures.seen(target, "fgsm", attack, start).right.sum()) for attack in attacks]
    assert alone == [0, 4], "more is left at the larger radius"
    assert [int(row.right.sum()) for row in measures.rising(target, "fgsm", attacks, start)] == [0, 0]


# -- corruptions ------------------------------------------------------------------------------------------------------


def test_corruptions_that_are_not_given_are_reported_as_not_run(pair, tmp_path):
    assert find_corruptions(tmp_path) is None
    (result, _) = run_protocol("corruptions", pair)
    assert result.rows == () and "not there" in result.not_run


def test_images_of_cifars_size_are_corrupted_by_code():
    images = torch.randint(256, (6, 3, 32, 32), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    target = subject(small_convolution(4, 3, 32), images, torch.arange(6) % 4, batch=4)
    (result,) = run_protocol("corruptions", target)
    clean, *rows = result.rows
    assert len(rows) == 95 and {row.settings["source"] for row in rows} == {"regenerated"}
    noisy = corrupt(images, "gaussian_noise", 5).float() / 255
    expected = int((target.model(noisy).argmax(1) == target.labels).sum())
    assert next(row for row in rows if row.label == "gaussian_noise, severity 5").correct == expected
    assert clean.images == 6 and "regenerated" in result.notes[0]


def write_corruptions(folder, pair, **files):
    """Fabricated files in the layout of CIFAR-10-C: the images of `pair`, darker with every severity."""
    folder.mkdir(parents=True, exist_ok=True)
    clean = pair.images.numpy().transpose(0, 2, 3, 1)
    dimmed = np.concatenate([(clean * (1 - severity / 5)).astype(np.uint8) for severity in range(5)])
    contents = {"labels": np.tile(pair.labels.numpy(), 5), "dimmed": dimmed}
    for name, content in (contents | files).items():
        np.save(folder / f"{name}.npy", content)


def test_corruptions_are_read_by_severity(pair, tmp_path):
    write_corruptions(tmp_path / "CIFAR-10-C", pair)
    (result, _) = run_protocol("corruptions", pair, ProtocolOptions(corruptions=find_corruptions(tmp_path)))
    expected = [{"corruption": "dimmed", "severity": s, "source": "published"} for s in range(1, 6)]
    assert [row.settings for row in result.rows[1:]] == expected
    assert result.rows[1].accuracy == result.rows[0].accuracy > result.rows[5].accuracy


def test_a_note_tells_where_corrupted_images_are_from(pair, tmp_path):
    write_corruptions(tmp_path / "CIFAR-10-C", pair)
    (result, _) = run_protocol("corruptions", pair, ProtocolOptions(corruptions=find_corruptions(tmp_path)))
    assert result.notes == ("corruptions are published: read from the files in CIFAR-10-C",)


@pytest.mark.parametrize(
    ("files", "lacking"),
    [
        ([], "lacks labels.npy and the files of corruptions, such as fog.npy"),
        (["fog"], "lacks labels.npy; expected"),
        (["labels"], "lacks the files of corruptions, such as fog.npy"),
    ],
)
def test_a_folder_of_corruptions_that_is_not_whole_is_refused(tmp_path, files, lacking):
    own = tmp_path / "CIFAR-10-C"
    own.mkdir()
    for name in files:
        np.save(own / f"{name}.npy", np.zeros(5, dtype=np.uint8))
    for given in (tmp_path, own):
        with pytest.raises(InputError, match=f"CIFAR-10-C {lacking}"):
            find_corruptions(given)


def test_radii_are_attacked_in_rising_order(pair):
    (result, _) = run_protocol("pgd-whitebox", pair.chosen(2), ProtocolOptions(restarts=1, eps=(8 / 255, 1e-9, 1e-9)))
    levels = {name: [row.eps for row in result.rows if row.method == name] for name in ("pgd-20", "random signs")}
    assert levels["pgd-20"] == levels["random signs"] == [1e-9, 8 / 255]


def test_fewer_images_are_the_same_ones_clean_and_corrupted(pair, tmp_path):
    write_corruptions(tmp_path, pair)
    (result, _) = run_protocol("corruptions", pair, ProtocolOptions(images=9, corruptions=find_corruptions(tmp_path)))
    assert {row.images for row in result.rows} == {9}
    assert result.rows[1].correct == result.rows[0].correct, "severity 1 is the image itself"


def test_every_data_set_has_corruptions_of_its_own(pair, tmp_path):
    write_corruptions(tmp_path / "CIFAR-10-C", pair)
    assert find_corruptions(tmp_path, "cifar10") is not None
    for folder in (tmp_path, tmp_path / "CIFAR-10-C"):
        assert find_corruptions(folder, "cifar100") is None and find_corruptions(folder, "digits") is None


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"fog": np.zeros((320, 4, 4, 3), dtype=np.uint8)}, r"fog.npy holds uint8 of shape \(320, 4, 4, 3\)"),
        ({"fog": np.zeros((320, 8, 8, 1))}, "fog.npy holds float64"),
        ({"fog": np.array(["no pixels"], dtype=object)}, "fog.npy cannot be read as an array"),
        ({"labels": np.full(320, 77)}, "from 77 to 77; expected one dimension of classes, 0 to 9"),
        ({"labels": np.zeros((5, 64), dtype=int)}, "one dimension of classes"),
        ({"labels": np.zeros(320)}, "holds float64"),
        ({"labels": np.array(3)}, "holds 1 corruptions of 1 images"),
        ({"labels": np.zeros(0, dtype=int)}, "of 0 images"),
    ],
)
def test_corruptions_that_do_not_fit_are_refused_before_any_work(pair, tmp_path, monkeypatch, files, message):
    write_corruptions(tmp_path, pair, **files)
    monkeypatch.setattr(type(pair), "at", None)  # whoever looks at an image fails
    with pytest.raises(InputError, match=message):
        run_protocol("corruptions", pair, ProtocolOptions(corruptions=find_corruptions(tmp_path)))


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pgd", ["pgd"], None])
def test_an_unknown_protocol_is_named(name):
    with pytest.raises(InputError) as error:
        protocol(name)
    assert str(error.value) == f"protocol is {name!r}; expected one of {', '.join(PROTOCOLS)}"


def test_a_transfer_test_without_surrogate_is_refused_before_any_work(networks, pair):
    one = subject(Normalised(networks[0], (0.3,), (0.4,)), pair.images, pair.labels)
    with pytest.raises(InputError, match="surrogate"):
        run_protocol("paper-pgd", one)


@pytest.mark.parametrize("text", ["8", "0", "-1/255", "1/0", "two", "nan", ""])
def test_what_is_no_radius_is_refused(text):
    with pytest.raises(InputError, match="expected a fraction such as 8/255"):
        read_radius(text)


@pytest.mark.parametrize("options", [{"restarts": 0}, {"images": -3}, {"images": True}])
def test_bad_options_are_refused(options):
    with pytest.raises(InputError, match="at least 1"):
        ProtocolOptions(**options)


@pytest.mark.parametrize("eps", [0.1, (), (1.5,), "8/255", ("8/255",), 8])
def test_radii_that_are_no_list_of_numbers_are_refused(eps):
    with pytest.raises(InputError, match="expected a list of numbers between 0 and 1"):
        ProtocolOptions(eps=eps)
