"""Tables and numbers about speed, from benchmarks/results."""

from collections.abc import Callable
from math import ceil
from typing import Any

from tools.markdown_tables import BENCHMARKS, benchmark, span, table

Record = dict[str, Any]
STEPS_PER_EPOCH = 50_000 // 128
CASES = ((56, 1), (56, 10), (56, 30), (20, 10), (110, 10))  # layers and networks
TRAINING = {"native": "training-cuda", "torch": "training-cuda-torch"}  # the record of each engine
WITH_AUTHORS = ("training-cuda", "training-cuda-ten")  # runs of the present kernels with the authors' way beside them


# -- training on CIFAR's size ------------------------------------------------------------------------------------------


def training() -> str:
    """Compare our kernels with plain torch and with the authors' way, one row per case."""
    heads = (
        "Work",
        "ms per step",
        "s per epoch and network",
        "faster than the authors' way",
        "plain PyTorch, s",
        "peak memory, GiB",
        "plain PyTorch, GiB",
    )
    theirs = benchmark("training-cuda")["authors"]
    first = ("ZeroSNet-56, the authors' way", f"{theirs['ms_per_step']:.2f}", f"{theirs['seconds_per_epoch']:.2f}")
    rows = [_training_row(layers, replicas) for layers, replicas in CASES]
    return table(heads, [(*first, "1", "", "", ""), *rows])


def _training_row(layers: int, replicas: int) -> tuple[str, ...]:
    ours, plain = _case(layers, replicas, "native"), _found(layers, replicas, "torch")
    memory = _evaluation() if (layers, replicas) == (56, 10) else ours  # batches of evaluations as they are now
    return (
        f"ZeroSNet-{layers}, " + ("1 network" if replicas == 1 else f"{replicas} fused"),
        f"{ours['step_ms']:.2f}",
        f"{ours['seconds_per_epoch_and_network']:.3f}",
        f"{ours['times_faster']:.0f} times" if "times_faster" in ours else "",
        f"{plain['seconds_per_epoch_and_network']:.3f}" if plain else "",
        f"{memory['peak_memory_gib']:.1f}",
        f"{plain['peak_memory_gib']:.1f}" if plain else "",
    )


def _case(layers: int, replicas: int, kernels: str) -> Record:
    found = _found(layers, replicas, kernels)
    assert found is not None
    return found


def _found(layers: int, replicas: int, kernels: str) -> Record | None:
    rows = benchmark(TRAINING[kernels])["rows"]
    return next((row for row in rows if row["case"] == f"{layers} layers, K={replicas}, {kernels}"), None)


def _authors_ms() -> list[float]:
    return [run["ms_per_step"] for run in benchmark("authors-way")["runs"]]


def _times_faster() -> list[float]:
    """List how many times as fast ten fused networks were as the authors' way, by runs that timed both."""
    rows = [row for record in WITH_AUTHORS for row in benchmark(record)["rows"]]
    return [row["times_faster"] for row in rows if (row["layers"], row["replicas"]) == (56, 10)]


def _ten() -> Record:
    return _case(56, 10, "native")


def _evaluation() -> Record:
    """Read the run that timed evaluation in batches of 1,000 images."""
    (row,) = benchmark("training-cuda-ten")["rows"]
    return row


# -- ImageNet's size ---------------------------------------------------------------------------------------------------


IMAGENET = ("imagenet-cuda-18", "imagenet-cuda-34", "imagenet-cuda-one-way", "imagenet-cuda")
DECODERS = ("workers", "the GPU")


def imagenet() -> str:
    """List images per second with data on the GPU, and from JPEG files; rows of one record were measured in one run."""
    files = [f"{size} kB files, {who}" for size in (10, 100) for who in ("workers", "GPU")]
    rows = []
    for record in IMAGENET:
        measured = benchmark(record)
        depth = measured["depth"]
        for name in (f"timm resnet{depth}", f"preresnet{depth}", f"zerosnet{depth}_opt"):
            rates = [measured["compute"][name]]
            for mark in ("10 kB", "100 kB"):
                rates += [_rate(measured, mark, name, who) for who in DECODERS]
            cells = ["" if rate is None else f"{rate:,.0f}" for rate in rates]
            shown = f"timm's `resnet{depth}`" if name.startswith("timm") else f"`{name}`"
            rows.append((f"`{record}`", shown, str(measured["batch"]), *cells))
    return table(("Record", "Network", "Batch", "Compute", *files), rows)


def _rate(measured: Record, mark: str, network: str, who: str) -> float | None:
    """Find images per second from the files whose description has the mark; None if that was not measured."""
    sources = [source for source in measured["sources"] if f" {mark} " in source["source"]]
    rates = [source.get(f"{network}, decoded by {who}") for source in sources]
    return rates[0] if rates else None


def imagenet_rate(network: str, who: str) -> float | None:
    """Find images per second of training from files of ImageNet's size, 100 kB; None if that was not measured.

    Args:
        network: A model's name.
        who: "workers" or "the GPU" decodes.
    """
    found = [_rate(benchmark(record), "100 kB", network, who) for record in IMAGENET]
    return next((rate for rate in found if rate is not None), None)


# -- the rest ----------------------------------------------------------------------------------------------------------


def start() -> str:
    """List the seconds to the first step of a training by machine, engine and call, with those of imports."""
    rows = []
    for name in ("start-cpu", "start-cuda"):
        if not (BENCHMARKS / f"{name}.json").exists():
            continue
        record = benchmark(name)
        gpu = record["environment"]["gpu"]
        machine = f"one {gpu['names'][0].removeprefix('NVIDIA ')}" if gpu else "two CPU cores"
        for case in record["cases"]:
            seconds = (case["start_seconds"], case["parts"]["imports"], case["cpu_seconds"])
            work = f"`{record['arguments'][0]}`, {machine}, `--kernels {case['engine']}`"
            rows.append((work, case["call"], *("" if one is None else f"{one:.1f}" for one in seconds)))
    return table(("Training", "Call", "Start, s", "of it imports, s", "CPU time, s"), rows)


ATTACKS = {
    "noises": "ten ZeroSNet-56, clean and 17 noises of 10,000 images",
    "pgd-20": "the same networks, PGD-20 at 8/255",
    "corruptions": "the same networks, 95 corruptions",
}
"""What the benchmark of robustness measures, of which an older record may lack some."""


def other_speeds() -> str:
    """List what else was timed, each with what it is compared with."""
    numerics, attacks = benchmark("numerics"), benchmark("robustness-cuda")["seconds"]
    stable, region, edge = numerics["zero_stability"], numerics["region"]["zerosnet(10)"], numerics["borderline"]
    rates = stable["schemes_per_second"]
    four, eight = (
        span((case["decision_ms"] for case in numerics["exact_decision"][f"{steps} steps"].values()), 3)
        for steps in (4, 8)
    )
    rows = [
        *(
            (
                words,
                "one H200",
                f"{attacks[f'{name}, fused']:.1f} s",
                f"{attacks[f'{name}, one by one']:.0f} s one by one",
            )
            for name, words in ATTACKS.items()
            if f"{name}, fused" in attacks
        ),
        (
            "zero stability of three-step schemes, floats",
            "two CPU cores",
            f"{rates['zerosnet'] / 1e6:.1f} million a second",
            f"{rates['nodepy with construction']:,.0f} (NodePy)",
        ),
        (
            "region of absolute stability, 400 × 400, λ = 10",
            "two CPU cores",
            f"{1e3 * region['seconds']['zerosnet']:.1f} ms",
            f"{region['seconds']['nodepy']:.1f} s (NodePy)",
        ),
        (
            "borderline schemes decided correctly",
            "",
            f"{edge['right']['zerosnet']} of {edge['cases']}",
            f"{edge['right']['nodepy']} of {edge['cases']} (NodePy)",
        ),
        ("exact decision, 4 steps", "one CPU core", f"{four} ms", ""),
        ("exact decision, 8 steps", "one CPU core", f"{eight} ms", ""),
        (
            "ten networks on the digits, recipe `quick`",
            "two CPU cores",
            f"{benchmark('training-cpu')['seconds']:.1f} s",
            "",
        ),
        ("`make demo`, after setting up", "two CPU cores", f"{benchmark('demo-cpu')['demo_seconds']:.0f} s", ""),
    ]
    return table(("Task", "On", "Here", "Compared with"), rows)


def explorer() -> str:
    """List the time from the movement of a slider to the painted frame."""
    views = benchmark("explorer")["views"].items()
    rows = [(name, f"{view['median_ms']:.0f}", f"{view['slowest_tenth_ms']:.0f}") for name, view in views]
    return table(("What moves", "Median, ms", "Slowest tenth, from, ms"), rows)


def _memory_in_training() -> str:
    rows = [row for row in benchmark("models-cuda")["rows"] if row["mode"] == "training"]
    return span(row["memory_ratio"] for row in rows)


TABLES: dict[str, Callable[[], str]] = {
    "training speed": training,
    "ImageNet speed": imagenet,
    "start": start,
    "other speeds": other_speeds,
    "explorer speed": explorer,
}
VALUES: dict[str, Callable[[], str]] = {
    "ten fused, s per epoch and network": lambda: f"{_ten()['seconds_per_epoch_and_network']:.3f}",
    "ten fused, minutes of 160 epochs": lambda: f"{160 * _ten()['seconds_per_epoch'] / 60:.0f}",
    "authors, ms per step": lambda: span(_authors_ms(), 1),
    "times faster than the authors": lambda: span(_times_faster(), 0),
    "evaluation, % of an epoch": lambda: f"{100 * _evaluation()['evaluation_share']:.1f}",
    "evaluation of ten, ms": lambda: f"{_evaluation()['evaluation_ms']:.0f}",
    "checkpoint, s": lambda: f"{_ten()['checkpoint_waiting_seconds']:.1f}",
    "memory in training against PreResNet": _memory_in_training,
    "difference of the decoders": lambda: span(
        source["difference"] for source in benchmark("imagenet-cuda-one-way")["sources"]
    ),
    "ZeroSNet-50 restarted, images/s": lambda: (
        f"{benchmark('imagenet-cuda')['compute']['zerosnet50_opt, history restarted']:,.0f}"
    ),
    "load of the explorer's machine": lambda: f"{benchmark('explorer')['load']:.1f}",
    "demo, minutes": lambda: f"{ceil(benchmark('demo-cpu')['demo_seconds'] / 30) / 2:g}",
    "setting up, s": lambda: f"{benchmark('demo-cpu')['set_up_seconds']:.0f}",
}
