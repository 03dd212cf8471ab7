import pytest

from zerosnet import InputError
from zerosnet.data import image_size, list_datasets, load, source


def test_an_unknown_data_set_is_refused_with_the_accepted_ones():
    with pytest.raises(InputError, match=r"dataset is 'svhn'; expected one of digits, mosaics, mnist, fashion"):
        load("svhn")


@pytest.mark.parametrize("name", [name for name in list_datasets() if not source(name).embedded])
def test_data_sets_of_files_ask_for_their_folder(name):
    with pytest.raises(InputError, match=r"--data DIR"):
        load(name)


def test_digits_are_never_mirrored_and_photographs_are():
    assert not source("mnist").augmentation.flip and not source("digits").augmentation.flip
    assert source("cifar10").augmentation.flip and source("cifar10").augmentation.crop == 4


def test_download_is_done_by_torchvision_and_only_when_asked_for(tmp_path, monkeypatch):
    from torchvision import datasets

    calls = []

    class Refusing:
        def __init__(self, root, train, download):
            calls.append((root, train, download))
            raise RuntimeError("no network")

    monkeypatch.setattr(datasets, "CIFAR10", Refusing)
    with pytest.raises(InputError, match="data_batch_1 is missing"):
        load("cifar10", tmp_path)
    assert calls == []
    with pytest.raises(InputError, match=r"'cifar10' could not be downloaded.*no network"):
        load("cifar10", tmp_path, download=True)
    assert calls == [(str(tmp_path), True, True)]


def test_the_size_of_images_is_known_without_files_and_right() -> None:
    assert image_size("digits") == load("digits").size
    sizes = {name: image_size(name)[0] for name in ("mnist", "fashion-mnist", "cifar10", "cifar100", "imagefolder")}
    assert sizes == {"mnist": 28, "fashion-mnist": 28, "cifar10": 32, "cifar100": 32, "imagefolder": 224}


@pytest.mark.parametrize("root", ["a" * 300, "\ud800", 7])
def test_a_folder_whose_name_cannot_be_one_is_refused(root):
    with pytest.raises(InputError, match="expected the path of a folder"):
        load("cifar10", root)
