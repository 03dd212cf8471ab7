"""Every launch of a training step, of an evaluation and of the benchmark, without a GPU: arguments, grids, streams."""

from importlib.resources import files
from itertools import product

import pytest
import torch
from benchmarks import kernels as benchmark
from tests.kernels import every_kernel
from tests.kernels.fake_chip import Race, Watch, install, signatures, signatures_around
from tests.kernels.host import needs_compiler

from zerosnet.kernels import NativeClassifier, NativePredictor, NativeStep
from zerosnet.kernels.compile import ELEMENTWISE, KERNELS
from zerosnet.kernels.cuda import CudaKernels
from zerosnet.kernels.native import WIDTHS
from zerosnet.kernels.readings import Readings
from zerosnet.kernels.weight_gradients import WeightAdder
from zerosnet.models import create_model

pytestmark = needs_compiler
BATCH = 2
MODELS = [
    ("zerosnet20_opt", {}),
    ("zerosnet20", {"scheme": "1/4,1/4,1/4,1/4;1", "replicas": 2}),
    ("zerosnet20_tra", {"replicas": 2}),
    ("preresnet20", {"in_chans": 1}),
    ("lmresnet20", {}),
    ("preresnet20_x0", {"replicas": 2}),
    ("streams20", {}),
    ("streams20_sinkhorn", {"replicas": 2, "streams": 2}),
    ("zerosnet20_opt", {"beta_growth": "3/2"}),
    ("zerosnet20", {"block_schemes": ["2,0,0;1", "1,1,0;1", *["1/3,5/9,1/9;16/9"] * 7]}),
]


@pytest.fixture
def chip(monkeypatch):
    return install(monkeypatch)


def build(name, options):
    replicas = options.get("replicas", 1)
    model = create_model(name, seed=list(range(replicas)), **options).to(memory_format=torch.channels_last)
    images = torch.randn(BATCH, replicas * model.in_chans, 32, 32).contiguous(memory_format=torch.channels_last)
    return model, images, torch.randint(10, (replicas, BATCH))


def names(chip):
    return {launch.name for launch in chip.launched}


def train(chip, name, options, steps=2):
    model, images, labels = build(name, options)
    step = NativeStep(model, batch=BATCH)
    with Watch(chip):
        for _ in range(steps):
            _, _, gradients = step(images, labels)
            torch._foreach_neg(gradients)  # an update reads them all


@pytest.mark.parametrize(("name", "options"), MODELS)
def test_a_step_hands_every_kernel_what_it_takes_and_waits_for_what_it_reads(chip, name, options):
    train(chip, name, options)
    assert {"stem_forward", "conv_inner", "conv_backward_outer", "add_weight_parts"} <= names(chip)


@pytest.mark.parametrize(("name", "options"), MODELS)
def test_evaluation_and_image_gradients_hand_every_kernel_what_it_takes(chip, name, options):
    model, images, _ = build(name, options)
    predict = NativePredictor(model, batch=BATCH)
    assert predict(images).shape == predict(images[:, : model.in_chans]).shape == (model.replicas, BATCH, 10)
    torch.autograd.grad(NativeClassifier(model)(images.requires_grad_()).sum(), images)
    assert "conv_backward_inner" in names(chip) and "add_weight_parts" not in names(chip)


@pytest.mark.parametrize("method", ["join", "parts"])
def test_a_missing_wait_is_found(chip, monkeypatch, method):
    forgetful = {"join": lambda self: None, "parts": lambda self: (self.buffers[self.turn], False)}
    monkeypatch.setattr(WeightAdder, method, forgetful[method])
    with pytest.raises(Race, match=r"add_weight_parts|does not wait for aten"):
        train(chip, "zerosnet20_tra", {"replicas": 2})


@pytest.mark.parametrize(
    "changed",
    [
        lambda rows: rows[..., :3].contiguous(),
        lambda rows: rows.transpose(1, 2).contiguous().transpose(1, 2),
        lambda rows: rows.double(),
    ],
    ids=["size", "layout", "type"],
)
def test_weights_of_another_size_layout_or_type_are_found(chip, monkeypatch, changed):
    rows = Readings.rows
    monkeypatch.setattr(Readings, "rows", lambda self, weights: changed(rows(self, weights)))
    with pytest.raises(AssertionError, match=r"'history_gradient_1', 'const float\*"):
        train(chip, "streams20", {"replicas": 2}, steps=1)


BOTH_KINDS = [("zerosnet20_opt", {}), ("streams20_sinkhorn", {"replicas": 2})]


@pytest.mark.parametrize(("name", "options"), BOTH_KINDS)
def test_tensors_read_beside_the_main_work_are_kept_until_it_is_done(chip, monkeypatch, name, options):
    """The allocator gives a freed piece of memory away at once, to the stream it came from."""
    beside, kept = WeightAdder.beside, set()

    def noted(self, *keep):
        kept.update(tensor.data_ptr() for tensor in keep)
        return beside(self, *keep)

    monkeypatch.setattr(WeightAdder, "beside", noted)
    train(chip, name, options, steps=1)
    made_there = {tensor.data_ptr() for tensor in chip.kept}
    assert kept and kept == chip.read_beside - made_there


@pytest.mark.parametrize(("name", "options"), BOTH_KINDS)
def test_kernels_beside_the_main_work_use_nothing_that_is_freed_while_they_run(chip, name, options):
    """The allocator gives a freed piece of memory away at once, to the stream it came from."""
    model, images, labels = build(name, options)
    native = (step := NativeStep(model, batch=BATCH)).native
    step(images, labels)
    held = {gradient.data_ptr() for gradient in native.gradients.values()}
    for kernels in native.kernels.values():
        held |= {part.data_ptr() for part in kernels._weight_adder.buffers}
        held |= {layout.data_ptr() for packing in kernels._packings.values() for layout in packing}
    beside = [launch for launch in chip.launched if launch.stream != 0]
    assert {launch.name for launch in beside} == {"add_weight_parts", "pack_weights"}
    assert all(launch.reads | launch.writes <= held for launch in beside)


@pytest.mark.parametrize(("name", "options"), MODELS)
def test_a_step_can_be_recorded_and_called_again(chip, name, options):
    model, images, labels = build(name, options)
    step = NativeStep(model, batch=BATCH)
    step(images, labels)
    with torch.cuda.graph(None), Watch(chip):
        step(images, labels)
    step(images, labels)


@pytest.mark.parametrize(("name", "options"), MODELS)
def test_an_evaluation_can_be_recorded(chip, name, options):
    model, images, _ = build(name, options)
    predict = NativePredictor(model, batch=BATCH)
    predict(images)
    with torch.cuda.graph(None), Watch(chip):
        predict(images)
    predict.refresh()


@pytest.mark.parametrize("late", [lambda x: x + torch.tensor(0.0), lambda x: x * x.sum().item()], ids=["to", "from"])
def test_a_recording_that_copies_from_the_host_or_to_it_is_found(chip, monkeypatch, late):
    model, images, labels = build("streams20", {})
    step, rows = NativeStep(model, batch=BATCH), Readings.rows
    step(images, labels)
    monkeypatch.setattr(Readings, "rows", lambda self, weights: late(rows(self, weights)))
    with pytest.raises(AssertionError, match="a recording waits for the host"), torch.cuda.graph(None), Watch(chip):
        step(images, labels)


@pytest.mark.parametrize(("channels", "width"), WIDTHS)
def test_the_benchmark_records_every_kernel_of_a_width(chip, monkeypatch, channels, width):
    monkeypatch.setattr(benchmark, "WARM_SECONDS", 0)
    rows = benchmark.measure(channels, width, replicas=2, batch=BATCH, device="cpu")
    assert all(0 < row["fraction"] == row["floor_us"] / row["us"] for row in rows)
    of_blocks = {f"{name}_{n}" for name in ("conv_step", "state_gradient", "history_gradient") for n in (1, 2, 3)}
    assert of_blocks | {"conv_inner", "backward_inner", "backward_outer"} <= {row["kernel"] for row in rows}


@pytest.mark.parametrize("join", [lambda self: None, lambda self: torch.cuda.current_stream().wait_stream(self.stream)])
def test_a_recording_that_waits_for_work_outside_of_it_is_found(chip, monkeypatch, join):
    """Where sums before it are not joined, and where streams are that have none."""
    monkeypatch.setattr(benchmark, "WARM_SECONDS", 0)
    monkeypatch.setattr(WeightAdder, "join", join)
    with pytest.raises(AssertionError, match="a recording waits for work outside of it"):
        benchmark.measure(16, 32, replicas=2, batch=BATCH, device="cpu")


def test_the_script_for_the_sanitizer_leaves_no_kernel_out(chip):
    for channels, width in WIDTHS:
        before = len(chip.launched)
        every_kernel.of_width(CudaKernels(channels, width, 2, 2, torch.device("cpu")))
        assert {launch.name for launch in chip.launched[before:]} == set(signatures(channels, width))
    chip.launched.clear()
    every_kernel.run(torch.device("cpu"), 2, 2)
    assert names(chip) == set(signatures_around()).union(*(signatures(*width) for width in WIDTHS))
    written = {path.name for path in (files("zerosnet.kernels") / "source").iterdir() if path.name.endswith(".cu")}
    assert written == {*KERNELS, ELEMENTWISE}


def test_the_script_for_the_sanitizer_has_all_kinds_of_images_and_updates(chip):
    every_kernel.run(torch.device("cpu"), 2, 2)
    found = {name: [one.numbers for one in chip.launched if one.name == name] for name in names(chip)}
    stems = {(one["channels"], one["replica_stride"] == 0, one["training"]) for one in found["stem_forward"]}
    assert stems == set(product((1, 3), (False, True), (0, 1)))
    batches = {(one["channels"], one["shifted"], one["flipped"]) for one in found["gather_images"]}
    assert batches == {(colours, augmented, augmented) for colours in (1, 3) for augmented in (0, 1)}
    assert [one["nesterov"] for one in found["update_sgd"]] == [0, 1]
