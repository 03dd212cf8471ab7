"""timm knows the networks after `register_with_timm()`."""

import subprocess
import sys

import pytest
import torch

from zerosnet.errors import InputError
from zerosnet.models import create_model, list_models, register_with_timm

timm = pytest.importorskip("timm")
register_with_timm()


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


def test_weights_that_there_are_not_are_an_error() -> None:
    with pytest.raises(InputError, match="no such weights of zerosnet110_opt"):
        timm.create_model("zerosnet110_opt", pretrained=True)


def test_models_alone_leave_timm_out() -> None:
    code = "import sys; from zerosnet.models import create_model; print('timm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


def test_a_scheme_goes_through_timm_as_text() -> None:
    model = timm.create_model("zerosnet56", scheme="zerosnet(-9/5)", seed=1)
    same = create_model("zerosnet56_opt", seed=1)
    x = torch.randn(2, 3, 32, 32)
    assert torch.equal(model(x), same(x))


# one of each family, size and kind of block
MODELS = ["preresnet20", "lmresnet20", "zerosnet20_opt", "zerosnet20_tra", "zerosnet20_stable", "zerosnet18_opt"]
MODELS += ["zerosnet50_opt", "zerosnet164_opt"]


def small(name: str, num_classes: int = 7, **options: object) -> torch.nn.Module:
    return timm.create_model(name, num_classes=num_classes, seed=1, **options).eval()


@pytest.mark.parametrize("name", MODELS)
def test_the_checks_that_timm_makes_of_its_own_models(name: str) -> None:
    model, x = small(name), torch.randn(2, 3, 64, 64)
    config = model.pretrained_cfg
    logits, features = model(x), model.forward_features(x)
    assert logits.shape == (2, 7) and torch.isfinite(logits).all()
    assert features.shape[1] == model.num_features
    assert torch.equal(model.forward_head(features), logits)
    assert model.forward_head(features, pre_logits=True).shape == (2, model.num_features)
    state = model.state_dict()
    assert f"{config['first_conv']}.weight" in state and f"{config['classifier']}.weight" in state
    assert config["num_classes"] == 7 and config["architecture"] == name
    model.reset_classifier(0)
    assert model(x).shape == (2, model.head_hidden_size) and model.num_classes == 0
    model.reset_classifier(0, "")
    assert torch.equal(model(x), features)
    without = small(name, num_classes=0, global_pool="")
    assert torch.equal(without(x), features)
    model.reset_classifier(4)
    assert model(x).shape == (2, 4) and f"{config['classifier']}.bias" in model.state_dict()


@pytest.mark.parametrize("name", MODELS)
def test_features_are_the_last_states_of_the_stages(name: str) -> None:
    model, x = small(name), torch.randn(2, 3, 64, 64)
    last, maps = model.forward_intermediates(x, norm=True)
    assert torch.equal(last, maps[-1])
    torch.testing.assert_close(last, model.forward_features(x))
    for info, found in zip(model.feature_info, maps, strict=True):
        assert found.shape == (2, info["num_chs"], 64 // info["reduction"], 64 // info["reduction"])
    assert torch.equal(
        model.forward_intermediates(x, indices=[1], stop_early=True, intermediates_only=True)[0], maps[1]
    )
    backbone = timm.create_model(name, num_classes=7, seed=1, features_only=True, out_indices=(0, 1)).eval()
    assert backbone.feature_info.channels() == [info["num_chs"] for info in model.feature_info[:2]]
    for found, expected in zip(backbone(x), maps[:2], strict=True):
        assert torch.equal(found, expected)
    assert sum(p.numel() for p in backbone.parameters()) < sum(p.numel() for p in model.parameters())


def test_features_that_are_not_there_are_refused() -> None:
    with pytest.raises(InputError, match="indices is 4; expected some of the 3 stages"):
        small("zerosnet20_opt").forward_intermediates(torch.zeros(1, 3, 8, 8), indices=4)


@pytest.mark.parametrize("options", [{"name": "zerosnet20_opt"}, {"name": "zerosnet20_tra"}, {"name": "preresnet20"}])
def test_checkpointing_changes_memory_and_nothing_else(options: dict[str, str]) -> None:
    plain = create_model(**options, seed=1).double()
    saving = create_model(**options, seed=1).double()
    saving.set_grad_checkpointing()
    x = torch.randn(4, 3, 16, 16, dtype=torch.float64)
    kept = []
    for model in (plain, saving):
        sizes: dict[int, int] = {}

        def pack(tensor: torch.Tensor, sizes: dict[int, int] = sizes) -> torch.Tensor:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            model(x).square().sum().backward()
        kept.append(sum(sizes.values()))
    assert kept[1] < 0.6 * kept[0]
    for ours, theirs in zip(saving.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-9, atol=1e-12)
    for ours, theirs in zip(saving.buffers(), plain.buffers(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("name", ["zerosnet20_tra", "zerosnet18_opt"])
def test_groups_for_layer_decay_are_in_order_and_complete(name: str) -> None:
    from timm.models import group_parameters

    model = small(name)
    names = {name for name, _ in model.named_parameters()}
    for coarse in (False, True):
        groups = group_parameters(model, model.group_matcher(coarse=coarse))
        listed = [name for group in groups.values() for name in group]
        assert sorted(listed) == sorted(names)
        assert groups[0] and all(name.startswith("stem") for name in groups[0])
        inner = len(model.config.structure.blocks if coarse else model.stack.blocks)
        assert all(name.startswith("stack.blocks") for k in range(1, inner) for name in groups[k])


def test_timms_optimiser_takes_the_network_with_layer_decay() -> None:
    from timm.optim import create_optimizer_v2

    model = small("zerosnet20_tra")
    optimiser = create_optimizer_v2(model, opt="sgd", lr=0.1, weight_decay=0.1, layer_decay=0.5)
    coefficients = set(model.coefficient_parameters())
    decays = {g["weight_decay"] for g in optimiser.param_groups for p in g["params"] if p in coefficients}
    assert decays == {0.0}


@pytest.mark.parametrize("name", ["zerosnet20_tra", "zerosnet18_opt"])
def test_a_training_script_of_timm_takes_the_networks(name: str) -> None:
    from timm.optim import create_optimizer_v2
    from timm.scheduler import create_scheduler_v2
    from timm.utils import ModelEmaV3, NativeScaler, get_state_dict

    model = timm.create_model(  # what timm's train.py hands over when nothing is asked for
        name,
        pretrained=False,
        in_chans=3,
        num_classes=5,
        drop_rate=0.0,
        drop_path_rate=None,
        drop_block_rate=None,
        global_pool=None,
        bn_momentum=None,
        bn_eps=None,
        scriptable=False,
        checkpoint_path="",
    )
    model.set_grad_checkpointing(enable=True)
    assert timm.data.resolve_data_config({}, model=model)["mean"] == model.default_cfg["mean"]
    average = ModelEmaV3(model, decay=0.5)
    optimiser = create_optimizer_v2(model, opt="momentum", lr=0.1, weight_decay=1e-4)
    schedule, _ = create_scheduler_v2(optimiser, sched="cosine", num_epochs=3)
    images, labels = torch.randn(8, 3, 32, 32), torch.arange(8) % 5
    losses = []
    for epoch in range(3):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimiser.zero_grad()
        NativeScaler(device="cpu")(loss, optimiser, clip_grad=1.0, parameters=model.parameters())
        average.update(model)
        schedule.step(epoch + 1)
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert get_state_dict(average).keys() == model.state_dict().keys()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop_rate": 0.1}, "drop_rate is 0.1; these networks drop nothing"),
        ({"drop_path_rate": 0.2}, "drop_path_rate is 0.2"),
        ({"global_pool": "max"}, "global_pool is 'max'"),
        ({"global_pool": ""}, "or '' if num_classes is 0"),
        ({"bn_momentum": 0.1}, "unknown option 'bn_momentum'"),
    ],
)
def test_options_that_the_networks_lack_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        small("zerosnet20_opt", **options)
