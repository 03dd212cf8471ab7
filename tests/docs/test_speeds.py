"""What the pages say about speed is what the committed benchmarks measured."""

import statistics
from typing import Any

import pytest
from tests.docs.blocks import ROOT
from tests.docs.pages import benchmark, page, rows

from zerosnet.experiments.costs import _H200, _PLAIN

CASES = ("56 layers, K=10", "56 layers, K=1", "20 layers, K=10", "56 layers, K=30")
BY_GPU, BY_WORKERS = ", decoded by the GPU", ", decoded by workers"


def test_training_speeds_are_those_of_the_committed_benchmark() -> None:
    measured = benchmark("training-cuda")
    text = page("performance.md")
    theirs = measured["authors"]["ms_per_step"]
    assert {row["than_ms_per_step"] for row in measured["rows"] if row["layers"] == 56} == {theirs}
    assert f"| {theirs:.2f} | {theirs * (50_000 // 128) / 1e3:.2f} | 1 |" in text
    assert f"{measured['authors_beside_the_last_case']['ms_per_step']:.2f} ms on the machine of the last case" in text
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
    least, theirs = 23.54, ten["than_ms_per_step"]  # of all runs, and of this one
    slowest, times = least / theirs * ten["times_faster"], ten["times_faster"]
    assert f"{slowest:.0f} to {times:.0f} times faster than the authors' way" in readme
    assert f"{least:.1f} to {theirs:.1f} ms a step" in readme


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
    by_case, text = _training(), page("performance.md")
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
        assert row["kernels"] == "native" or row["outside_training_steps"] < 0.05, row["case"]
    for pair in benchmark("training-cuda")["peak_memory"]:
        in_one_process = pair["layers"] == 56  # plain torch at 20 layers was alone in one, with nothing left by others
        assert pair["native_gib"] <= pair["torch_gib"] or not in_one_process


def test_what_is_outside_the_training_steps_is_said_with_the_evaluation_too() -> None:
    """`outside_recorded_steps` takes the evaluation, a graph of its own, for inside; strictly it is not."""
    by_case, text = _training(), " ".join(page("performance.md").split())
    outside = {case: 100 * row["outside_training_steps"] for case, row in by_case.items()}
    ten, one, short, thirty = (outside[f"{case}, torch"] for case in CASES)
    assert f"{ten:.1f} % of an epoch are outside the training steps in plain torch with ten networks" in text
    assert f"{one:.1f} % with one, {short:.1f} % with ten of 20 layers, and {thirty:.1f} % with thirty" in text
    row = by_case["56 layers, K=30, torch"]
    assert f"a step of thirty takes {row['step_ms']:.1f} ms" in text
    assert f"their evaluation {row['evaluation_ms']:.0f} ms" in text
    assert f"With our kernels it is {_range([outside[f'{case}, native'] for case in CASES])} %" in text


def test_the_evaluation_and_what_is_outside_graphs_take_the_parts_of_an_epoch_that_the_page_says() -> None:
    by_case, text = _training(), " ".join(page("performance.md").split())
    outside = [100 * row["outside_recorded_steps"] for row in by_case.values()]
    assert f"counts as recorded: {min(outside):+.1f} to {max(outside):+.1f} % of an epoch" in text
    ours, plain = (
        _range([100 * by_case[f"{case}, {kernels}"]["evaluation_share"] for case in CASES])
        for kernels in ("native", "torch")
    )
    assert f"{ours} % of an epoch; in plain torch it is {plain} %" in text
    times = [f"{by_case[f'56 layers, K={k}, torch']['times_faster']:.1f}" for k in (10, 30, 1)]
    assert "Plain torch is {} (10 fused), {} (30) and {} times (1 network) as fast".format(*times) in text


def _training() -> dict[str, Any]:
    return {row["case"]: row for row in benchmark("training-cuda")["rows"]}


def _range(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


def test_the_kernels_take_the_parts_of_a_step_that_the_page_says() -> None:
    row, text = _training()["56 layers, K=10, native"], " ".join(page("kernels.md").split())
    assert f"a step of training of {row['step_ms']:.2f} ms" in text
    parts = {
        "`conv_step`": ("conv_step",),
        "`conv_backward_outer`": ("conv_backward_outer",),
        "`conv_backward_inner`": ("conv_backward_inner",),
        "gradient recursion": ("state_gradient", "history_gradient"),
        "`conv_inner`": ("conv_inner",),
    }
    for name, kernels in parts.items():
        us = sum(one["us"] for one in row["profile"] if one["kernel"].startswith(kernels))
        assert f"{name} {us / row['step_ms'] / 10:.0f} %" in text


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
    measured, text = benchmark("imagenet-cuda"), " ".join(page("performance.md").split())
    small, large = measured["sources"]
    table = _imagenet_table("now")
    _compare_with_files(table, measured, [(small, ""), (small, BY_GPU), (small, BY_WORKERS), (large, "")])
    compute = measured["compute"]
    assert table["timm's `resnet50`"][0] == f"{compute['timm resnet50']:,.0f}"
    restarted = compute["zerosnet50_opt, history restarted"]
    assert table["`zerosnet50_opt`, history restarted at every stage"][0] == f"{restarted:,.0f}"
    assert f"as a loader alone, {large[f'loader{BY_GPU}']:,.0f}" in text
    ratios = measured["ratios"]
    assert all(ratios[name] >= measured["targets"][name] for name in ("preresnet / timm", "zerosnet / preresnet"))
    timm, pre = ratios["preresnet / timm"], ratios["zerosnet / preresnet"]
    assert f"PreResNet-50 is at {timm:.2f} of timm's rate, ZeroSNet-50 at {pre:.2f} of PreResNet-50's" in text
    ms = {name: 1e3 * measured["batch"] / rate for name, rate in compute.items()}
    more, gone = (ms["zerosnet50_opt"] - ms[name] for name in ("preresnet50", "zerosnet50_opt, history restarted"))
    assert f"a step takes {more:.1f} ms more. {gone:.1f} ms of them are gone" in text
    lost = 100 * (1 - small["preresnet50"] / small[f"preresnet50{BY_WORKERS}"])
    assert f"sharing loses {lost:.0f} % against workers alone" in text


def test_images_a_second_of_one_decoder_alone_are_those_of_the_earlier_run() -> None:
    measured = benchmark("imagenet-cuda-one-way")
    cells = [(source, who) for source in measured["sources"] for who in (BY_GPU, BY_WORKERS)]
    _compare_with_files(_imagenet_table("earlier"), measured, cells)


def test_parts_of_the_loaders_rate_are_those_of_the_committed_benchmarks() -> None:
    text = " ".join(page("performance.md").split())
    (small, large), (small_then, large_then) = (
        benchmark(name)["sources"] for name in ("imagenet-cuda", "imagenet-cuda-one-way")
    )

    def part(source: dict[str, Any], name: str, who: str) -> str:
        rate = source[f"{name}{who}"] / source[f"loader{who}"]
        assert rate == pytest.approx(source[f"{name}{who}, end to end / loader"])
        return f"{rate:.2f}"

    pre, zero = "preresnet50", "zerosnet50_opt"
    assert f"with PreResNet-50 {part(small, pre, BY_GPU)} (GPU) and {part(small, pre, BY_WORKERS)} (workers)" in text
    ours = [part(source, zero, BY_GPU) for source in (small_then, large_then)]
    assert f"with ZeroSNet-50 {ours[0]} (GPU, small files) and {ours[1]} (GPU, large files)" in text
    theirs = [part(source, pre, BY_WORKERS) for source in (small_then, large_then)]
    assert f"with PreResNet-50 and workers {theirs[0]} and {theirs[1]}" in text
    assert not any(key in source for source in (small, large) for key in ("loader", f"{pre}, end to end / loader"))


def _imagenet_table(which: str) -> dict[str, list[str]]:
    """The rows of one of the two tables of 50 layers, by their first cells."""
    section = page("performance.md").partition("## ImageNet's size")[2]
    now, _, earlier = section.partition("| Earlier run |")
    return {row[0]: row[1:] for row in rows({"now": now, "earlier": earlier}[which]) if len(row) == 6}


def _compare_with_files(
    table: dict[str, list[str]], measured: dict[str, Any], columns: list[tuple[dict[str, Any], str]]
) -> None:
    """Compute first, then for each column (files, who decodes) the rate and its part of compute, where measured."""
    for name in ("preresnet50", "zerosnet50_opt"):
        cells = [f"{measured['compute'][name]:,.0f}"]
        for source, who in columns:
            rate, share = (source.get(f"{name}{who}{what}") for what in ("", ", end to end / compute"))
            cells.append("" if rate is None else f"{rate:,.0f} ({share:.2f})")
            assert share is None or share >= measured["targets"]["end to end / compute"]
        assert [cell.replace(" of compute", "") for cell in table[f"`{name}`"]] == cells
    loaders = [source.get(f"loader{who}") for source, who in columns]
    assert table["the loader alone"] == ["", *("" if rate is None else f"{rate:,.0f}" for rate in loaders)]


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
    table = {row[0].partition(",")[0]: row[1:] for row in rows(page("performance.md")) if len(row) == 4}
    (source,) = measured["sources"]
    for name in (f"preresnet{layers}", f"zerosnet{layers}_opt"):
        who, said = ("", "shared") if name in source else (BY_GPU, "all by the GPU")
        share = source[f"{name}{who}, end to end / compute"]
        assert layers == 18 or share >= measured["targets"]["end to end / compute"]
        cells = [f"{measured['compute'][name]:,.0f}", f"{source[name + who]:,.0f} ({share:.2f})", said]
        assert [cell.replace(" of compute", "") for cell in table[f"`{name}`"]] == cells
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
