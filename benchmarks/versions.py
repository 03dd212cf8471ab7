"""Steps and evaluations of several versions of the kernels, in one run (CUDA).

git archive COMMIT src benchmarks | tar -x -C build/versions/NAME    for every version, in the order of their names
python benchmarks/versions.py build/versions                         the table; --kernels times every kernel as well,
                                                                     --once leaves out the case that is timed twice

Each version runs in a process of its own. The first and the last one get all cases, those between the first few.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

STEPS = ((56, 10), (56, 1), (20, 10), (56, 30), (110, 10), (56, 10))  # layers, replicas; the first once more
FEW = 3
BATCHES = (125, 250, 500, 1000)  # images per replica in one pass of an evaluation of ten networks
IMAGES = 10_000
FLAGS = ("here", "few", "kernels", "once")

Row = tuple[str, float]


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the options of the command, or of the process of one version (--here)."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("versions", type=Path, nargs="?", help="a folder with a folder for every version")
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES, help="images per replica in an evaluation")
    for name in FLAGS:
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args(words)


def words_of(options: argparse.Namespace, few: bool) -> list[str]:
    """Write the options for the process of a version."""
    asked = {**vars(options), "here": True, "few": few}
    return [*(f"--{name}" for name in FLAGS if asked[name]), "--batches", *map(str, options.batches)]


def measured(options: argparse.Namespace) -> Iterator[Row]:
    """Measure the version that this process imports: by name, milliseconds, or microseconds of kernels."""
    from benchmarks.kernels import WIDTHS, measure, measure_step

    for number, (layers, replicas) in enumerate(STEPS[:FEW] if options.few else STEPS):
        again = ", again" * (number == len(STEPS) - 1)
        if again and options.once:
            continue
        yield f"step of {layers} layers, K={replicas}{again}", measure_step(layers, replicas)["ms"]
    if options.few:
        return
    for batch in options.batches:
        yield f"evaluation in batches of {batch}", evaluation_ms(batch)
    for channels, width in WIDTHS if options.kernels else ():
        yield from ((f"{row['kernel']}, {channels} channels, us", row["us"]) for row in measure(channels, width))


def evaluation_ms(batch: int, replicas: int = 10, repeats: int = 5) -> float:
    """Time the evaluation of ten networks with 56 layers, as the engine makes it."""
    import torch

    from benchmarks.steps import milliseconds
    from zerosnet.data import ImageSet
    from zerosnet.kernels import NativePredictor, native_gather
    from zerosnet.models import create_model
    from zerosnet.training.fused.passes import Evaluation

    model = create_model("zerosnet56_opt", replicas=replicas, seed=0).cuda().to(memory_format=torch.channels_last)
    model.conv_dtype = torch.bfloat16
    pixels = torch.randint(256, (IMAGES, 3, 32, 32), dtype=torch.uint8, device="cuda")
    images = ImageSet(pixels, torch.randint(10, (IMAGES,), device="cuda"))
    statistics = (torch.full((3,), 0.5, device="cuda"), torch.full((3,), 0.25, device="cuda"))
    predict = NativePredictor(model.eval(), batch=batch)
    test = Evaluation(predict, images, statistics, batch=batch, channels_last=True, gather=native_gather)
    milliseconds(test.run, repeats, "cuda")
    return milliseconds(test.run, repeats, "cuda")


def of_version(folder: Path, words: Sequence[str], report: Callable[[Row], None]) -> None:
    """Measure a version in a process of its own; what it prints as JSON are rows."""
    paths = os.pathsep.join([str(folder.resolve() / "src"), str(folder.resolve())])
    command = [sys.executable, str(Path(__file__).resolve()), *words]
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}  # not this folder, whose names are common
    with subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            report(tuple(json.loads(line)))


def table(found: dict[str, dict[str, float]]) -> str:
    """Format times by case and version, and the change from the first version to the last."""
    versions = list(found)
    lines = [f"{'':36}" + "".join(f"{name[:10]:>11}" for name in versions) + "     change"]
    for case in found[versions[0]]:
        times = [found[version].get(case) for version in versions]
        cells = "".join(f"{'' if t is None else f'{t:.3f}':>11}" for t in times)
        change = f"{times[-1] / times[0] - 1:>+11.1%}" if times[0] and times[-1] else ""
        lines.append(f"{case:36}{cells}{change}")
    return "\n".join(lines)


def main() -> None:
    options = parsed()
    if options.here:
        for row in measured(options):
            print(json.dumps(row), flush=True)
        return
    folders = sorted(folder for folder in options.versions.iterdir() if folder.is_dir())
    found: dict[str, dict[str, Any]] = {folder.name: {} for folder in folders}
    for folder in (folders[0], folders[-1], *folders[1:-1]):  # what matters most comes first
        words = words_of(options, few=folder not in (folders[0], folders[-1]))
        of_version(folder, words, lambda row, name=folder.name: found[name].update([row]))  # type: ignore[misc]
        print(f"{folder.name}: {found[folder.name]}", flush=True)
    print(table(found), flush=True)


if __name__ == "__main__":
    main()
