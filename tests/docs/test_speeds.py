"""What the pages say about speed is what the committed benchmarks measured."""

import statistics

import pytest
from tests.docs.blocks import ROOT
from tests.docs.pages import benchmark, page, rows

from zerosnet.experiments.cost import _H200, _PLAIN

LOADERS = ("loader, decoded by the GPU", "loader, decoded by workers")


def test_training_speeds_are_those_of_the_committed_benchmark() -> None:
    measured = benchmark("training-cuda")
    text = page("performance.md")
    assert f"{measured['authors']['ms_per_step']:.2f}" in text
    for row in measured["rows"]:
        if row["kernels"] != "native":
            continue
        seconds = f"{row['seconds_per_epoch_and_network']:.3f} |"
        times = f" {row['times_faster']:.0f} times |" if "times_faster" in row else ""
        assert f"{row['step_ms']:.2f} | {seconds}{times}" in text, row["case"]
        assert f"-{row['layers']}, K = {row['replicas']} | {seconds}{times}" in page("kernels.md"), row["case"]
    ten = measured["rows"][0]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"{ten['seconds_per_epoch_and_network']:.3f} s per epoch and network for ten fused ZeroSNet-56" in readme
    assert f"makes {160 * ten['seconds_per_epoch'] / 60:.0f} minutes for the paper's 160 epochs" in readme
    assert f"{ten['times_faster']:.0f} times faster than the authors' way" in readme


def test_costs_are_computed_from_the_committed_benchmark() -> None:
    by_case = {
        row["case"]: round(row["seconds_per_epoch_and_network"], 3) for row in benchmark("training-cuda")["rows"]
    }
    assert {layers: by_case[f"{layers} layers, K=10, native"] for layers in (20, 56)} == _H200
    assert by_case["56 layers, K=10, torch"] / by_case["56 layers, K=10, native"] == _PLAIN


def test_an_epoch_is_not_shorter_than_its_steps_and_its_evaluation() -> None:
    for row in benchmark("training-cuda")["rows"]:
        parts = (50_000 // 128 * row["step_ms"] + row["evaluation_ms"]) / 1e3
        assert row["seconds_per_epoch"] > 0.97 * parts, row["case"]  # two timings differ by a little


def test_both_engines_are_shown_as_they_were_measured_in_one_run() -> None:
    measured, text = benchmark("training-cuda"), page("performance.md")
    assert f"{measured['authors']['ms_per_step']:.2f}" in text
    by_case = {row["case"]: row for row in measured["rows"]}
    for layers, replicas in ((56, 1), (56, 10), (56, 30), (20, 10)):
        rows = [by_case[f"{layers} layers, K={replicas}, {kernels}"] for kernels in ("native", "torch")]
        ours, plain = (f"{row['seconds_per_epoch_and_network']:.3f}" for row in rows)
        gib = " and ".join(f"{row['peak_memory_gib']:.1f}" for row in rows)
        assert f"| {ours} | {plain} | {float(plain) / float(ours):.1f} | {gib} |" in text
        if layers == 56:
            assert f"{ours} against {plain} s at K = {replicas}" in " ".join(page("kernels.md").split())


def test_the_training_benchmark_reached_what_it_must() -> None:
    for row in benchmark("training-cuda")["rows"]:
        assert row["target"] is None or row["seconds_per_epoch_and_network"] <= row["target"], row["case"]
        assert row["outside_recorded_steps"] < 0.05 and row["checkpoint_share_at_one_a_minute"] < 0.01, row["case"]
    for pair in benchmark("training-cuda")["peak_memory"]:
        assert pair["native_gib"] <= pair["torch_gib"]


def test_what_is_outside_the_training_steps_is_said_with_the_evaluation_too() -> None:
    """`outside_recorded_steps` takes the evaluation, a graph of its own, for inside; strictly it is not."""
    rows, text = benchmark("training-cuda-torch")["rows"], " ".join(page("performance.md").split())
    shares = {row["case"]: 1 - 50_000 // 128 * row["step_ms"] / 1e3 / row["seconds_per_epoch"] for row in rows}
    assert all(share < 0.05 for share in shares.values())
    ten, one = (100 * shares[f"56 layers, K={k}, torch"] for k in (10, 1))
    assert (
        f"{ten:.1f} % of an epoch are outside the training steps with ten networks in plain torch, {one:.1f} %" in text
    )
    seconds = {row["case"]: f"{row['seconds_per_epoch_and_network']:.3f}" for row in rows}
    assert "{}, {} and {} s per epoch and network for 10 fused".format(*seconds.values()) in text
    thirty = benchmark("evaluation-cuda")
    share = thirty["evaluation_ms"] / (thirty["evaluation_ms"] + 50_000 // 128 * thirty["step_ms"])
    took = f"{thirty['evaluation_ms']:.0f} ms ({thirty['before']['evaluation_ms']:,.0f} before)"
    assert f"{took} beside 390 steps of {thirty['step_ms']:.1f} ms, {100 * share:.1f} %" in text


def test_the_way_of_the_kernels_is_that_of_the_committed_history() -> None:
    kernels = ("conv_inner", "conv_step_3", "backward_inner", "backward_outer", "state_gradient_3")
    table = {row[0].partition(".")[0]: row[1:] for row in rows(page("kernels.md")) if len(row) == 7}
    for version in benchmark("kernels-history")["versions"][3:]:  # the first ones were rounded up
        us = {(row["kernel"], row["channels"]): f"{row['us']:.0f}" for row in version["rows"]}
        cells = [" / ".join(us[kernel, channels] for channels in (16, 32, 64)) for kernel in kernels]
        assert table[str(version["version"])] == [*cells, f"{version['steps'][0]['ms']:.2f} ms"], version["version"]


def test_noises_and_attacks_take_as_long_as_the_committed_benchmark_says() -> None:
    seconds, text = benchmark("robustness-cuda")["seconds"], " ".join(page("performance.md").split())
    for what in ("noises, fused", "pgd-20, fused"):
        assert f"{seconds[what]:.1f} s" in text
    for what in ("noises, one by one", "pgd-20, one by one"):
        assert f"{seconds[what]:.0f} s" in text


def test_the_demonstration_takes_as_long_as_was_measured() -> None:
    measured, text = benchmark("demo-cpu"), " ".join(page("performance.md").split())
    assert f"{measured['set_up_seconds']:.0f} s for setting up, {measured['demo_seconds']:.0f} s for" in text
    assert measured["demo_seconds"] < 300 and measured["set_up_seconds"] + measured["demo_seconds"] < 600


def test_parts_of_the_plain_engine_are_those_of_the_committed_benchmark() -> None:
    measured, page_rows = benchmark("parts-cuda")["rows"], rows(page("performance.md"))
    names = [row["name"] for row in measured]
    shown = [row for row in page_rows if len(row) == 3 and (row[0] in names or row[0].startswith("as it is"))]
    whole = measured[0]["ms_per_network"]
    assert [row["name"] for row in measured[1:]] == [row[0] for row in shown][-5:]
    for row, line in zip(measured, shown[-6:]):
        assert line[1] == f"{row['ms_per_network']:.2f}"
        assert float(line[2]) == pytest.approx(row["ms_per_network"] / whole, abs=5e-3)


def test_accuracies_of_the_engines_are_those_of_the_committed_runs() -> None:
    measured, shown = benchmark("engines-cuda"), [row for row in rows(page("performance.md")) if len(row) == 5]
    table = {row[0]: row[1:] for row in shown}
    names = {
        "native": "our kernels (version 8)",
        "native, version 7": "our kernels (version 7)",
        "native, version 4": "our kernels (version 4)",
        "torch": "plain torch, bf16 convolutions on a float32 state",
        "fp32": "plain torch, strict float32",
        "alone": "our kernels (version 7), seed 1 by itself",
    }
    for key, name in names.items():
        cells = iter(table[name])
        for which in ("best", "last"):
            runs = [100 * run[f"{which}_test_accuracy"] for run in measured[key]["runs"]]
            assert next(cells) == ", ".join(f"{value:.2f}" for value in runs)
            mean = f"{statistics.mean(runs):.2f} ± {statistics.stdev(runs):.2f}" if len(runs) > 1 else ""
            assert next(cells) == mean, (name, which)


def test_images_a_second_are_those_of_the_committed_benchmark() -> None:
    measured, text = benchmark("imagenet-cuda"), page("performance.md")
    table = {row[0]: row[1:] for row in rows(text) if len(row) == 6}
    for name in ("preresnet50", "zerosnet50_opt"):
        cells = [f"{measured['compute'][name]:,.0f}"]
        for source in measured["sources"]:
            for who in (", decoded by the GPU", ", decoded by workers"):
                rate, share = (source.get(f"{name}{who}{what}") for what in ("", ", end to end / compute"))
                cells.append("" if rate is None else f"{rate:,.0f} ({share:.2f})")
                assert share is None or share >= 0.6
        assert [cell.replace(" of compute", "") for cell in table[f"`{name}`"]] == cells
    loaders = [source[key] for source in measured["sources"] for key in LOADERS]
    assert table["the loader alone"] == ["", *(f"{rate:,.0f}" for rate in loaders)]
    assert table["timm's `resnet50`"][0] == f"{measured['compute']['timm resnet50']:,.0f}"
    for name in ("preresnet / timm", "zerosnet / preresnet"):
        assert measured["ratios"][name] >= measured["targets"][name]
        assert f"{measured['ratios'][name]:.2f}" in text


def test_what_workers_do_is_as_measured() -> None:
    measured, text = benchmark("decode-cpu"), " ".join(page("performance.md").split())
    times = measured["milliseconds"]
    part = {name: f"{100 * times[name] / times['a training image, all in all']:.0f} %" for name in times}
    assert f"that is {part['resizing the box']} of their time, decoding {part['decoding']}" in text
    assert f"would take {part['copying the box']} itself" in text
    assert f"send {measured['pixels of the box / pixels of the square']:.1f} times as much" in text


@pytest.mark.parametrize("layers", [18, 34])
def test_images_a_second_of_smaller_networks_are_those_of_the_committed_benchmarks(layers: int) -> None:
    measured = benchmark(f"imagenet-cuda-{layers}")
    table = {row[0].partition(",")[0]: row[1:] for row in rows(page("performance.md")) if len(row) == 3}
    (source,) = measured["sources"]
    for name in (f"preresnet{layers}", f"zerosnet{layers}_opt"):
        found = source.get(f"{name}, decoded by the GPU")
        rate = "not measured yet" if found is None else f"{found:,.0f}"
        assert table[f"`{name}`"] == [f"{measured['compute'][name]:,.0f}", rate]
    assert table[f"timm's `resnet{layers}`"][0] == f"{measured['compute'][f'timm resnet{layers}']:,.0f}"


def test_ratios_to_preresnet_are_those_of_the_committed_benchmarks() -> None:
    table = {(row[0], row[1]): row[2:] for row in rows(page("performance.md")) if len(row) == 6}
    columns = [(20, "training"), (20, "test"), (56, "training"), (56, "test")]
    for device, result in (("H200", "models-cuda"), ("2 CPU cores", "models-cpu")):
        for row in benchmark(result)["rows"]:
            shown = table[device, str(row["batch"])][columns.index((row["depth"], row["mode"]))]
            assert shown == f"{row['ratio']:.2f}", (device, row)


def test_numerics_speeds_are_those_of_the_committed_benchmark() -> None:
    measured, text = benchmark("numerics"), page("performance.md")
    assert f"{measured['zero_stability']['schemes_per_second']['zerosnet'] / 1e6:.1f} million" in text
    assert f"{measured['zero_stability']['over_nodepy_with_construction']:,.0f}" in text
    assert f"{measured['region']['zerosnet(10)']['over_nodepy']:,.0f}" in text
    assert f"{measured['borderline']['right']['nodepy']} of {measured['borderline']['cases']}" in text
    for steps in (4, 8):
        times = sorted(case["decision_ms"] for case in measured["exact_decision"][f"{steps} steps"].values())
        assert f"exact decision, {steps} steps | {times[0]:.3f} to {times[-1]:.3f} ms" in text


def test_the_explorer_follows_as_fast_as_its_benchmark_says() -> None:
    measured, text = benchmark("explorer"), page("explorer.md")
    assert f"load of the machine {measured['load']:.1f}" in " ".join(text.split())
    for name, view in measured["views"].items():
        assert f"| {name} | {view['median_ms']:.0f} | {view['slowest_tenth_ms']:.0f} |" in text
        assert view["median_ms"] < 100
