"""timm knows the networks after `import zerosnet.models`, whichever of the two is imported first."""

import subprocess
import sys

import pytest
import torch

from zerosnet.errors import InputError
from zerosnet.models import create_model, list_models

timm = pytest.importorskip("timm")


def test_timm_creates_the_network_of_that_name() -> None:
    model = timm.create_model("zerosnet56_opt", num_classes=7, in_chans=1, seed=3)
    same = create_model("zerosnet56_opt", num_classes=7, in_chans=1, seed=3)
    x = torch.randn(2, 1, 8, 8)
    assert torch.equal(model(x), same(x))
    assert model.get_classifier() is model.fc


def test_timm_lists_every_registered_network() -> None:
    known = set(timm.list_models())
    assert [name for name in list_models() if name not in known] == []


def test_timm_takes_the_images_from_the_default_config() -> None:
    data = timm.data.resolve_model_data_config(create_model("zerosnet50_opt"))
    assert data["input_size"] == (3, 224, 224) and data["crop_pct"] == 0.875
    data = timm.data.resolve_model_data_config(create_model("zerosnet20_opt", in_chans=1))
    assert data["input_size"] == (1, 32, 32) and data["mean"] == (0.5,)
    assert timm.models.get_pretrained_cfg("zerosnet20_opt").num_classes == 10


def test_there_are_no_pretrained_weights() -> None:
    with pytest.raises(InputError, match="no pretrained weights"):
        timm.create_model("zerosnet56_opt", pretrained=True)


@pytest.mark.parametrize(
    ("first", "second"),
    [("zerosnet.models", "timm"), pytest.param("timm", "zerosnet.models", marks=pytest.mark.slow)],
)
def test_the_order_of_imports_does_not_matter_and_models_alone_leaves_timm_out(first: str, second: str) -> None:
    code = f"import sys, {first}; print('timm' in sys.modules); import {second}, timm; timm.create_model('preresnet20')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, str(first == "timm")), done.stderr
