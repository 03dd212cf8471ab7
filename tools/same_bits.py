"""Train small networks on the CPU and print a digest of every run, to show that a change changed nothing.

    python tools/same_bits.py > before.txt      # then change the code
    python tools/same_bits.py | diff before.txt -

The cases: one network alone, several fused, trained coefficients, adversarial training, a run stopped and continued,
and a folder of images. A digest covers the spec, every metric but the seconds, the result and the weights.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

DIGITS = ["--dataset", "digits", "--deterministic"]
CASES = {
    "alone": ["train", "zerosnet20_opt", *DIGITS, "--recipe", "quick", "--epochs", "2"],
    "fused": [
        *["train", "zerosnet20", *DIGITS, "--recipe", "quick", "--epochs", "2", "--train-accuracy"],
        *["--scheme", "zerosnet(1/2)", "--scheme", "1,1,1;1", "--seed", "1", "--seed", "2"],
    ],
    "trained": ["train", "zerosnet20_tra", *DIGITS, "--recipe", "quick", "--epochs", "1", "--seed", "3"],
    "lm": ["train", "lmresnet20", *DIGITS, "--recipe", "quick", "--epochs", "1"],
    "madry": ["train", "preresnet20", *DIGITS, "--recipe", "pgd-madry", "--epochs", "1"],
    "fast": ["train", "zerosnet20_stable", *DIGITS, "--recipe", "fast", "--epochs", "2", "--precision", "fp64"],
}
FOLDER = [
    *["train", "zerosnet18_opt", "--dataset", "imagefolder:tiny", "--recipe", "imagenet", "--epochs", "1"],
    *["--batch", "8", "--deterministic", "--workers", "1"],
]


def zerosnet(arguments: list[str], folder: Path) -> None:
    command = [sys.executable, "-m", "zerosnet", *arguments, "--device", "cpu"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")


def digest(run: Path) -> str:
    """SHA-256 of what a run left behind, times aside."""
    found = hashlib.sha256((run / "spec.json").read_bytes())
    for line in (run / "metrics.jsonl").read_text().splitlines():
        found.update(json.dumps(_without_times(json.loads(line))).encode())
    found.update(json.dumps(_without_times(json.loads((run / "result.json").read_text()))).encode())
    found.update((run / "weights.safetensors").read_bytes())
    return found.hexdigest()[:16]


def _without_times(record: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in record.items() if "seconds" not in key}


def picture_folder(folder: Path) -> None:
    rng = np.random.default_rng(1)
    for part, count in (("train", 24), ("val", 6)):
        for label in ("a", "b", "c"):
            (folder / part / label).mkdir(parents=True)
            for i in range(count // 3):
                pixels = rng.integers(0, 256, (48, 40, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(folder / part / label / f"{i}.jpg", quality=90)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        picture_folder(folder / "tiny")
        for name, arguments in {**CASES, "folder": [*FOLDER, "--data", "."]}.items():
            zerosnet([*arguments, "--store", name], folder)
        for limit in (["--max-seconds", "2"], ["--max-seconds", "3"], ["--max-seconds", "4"], []):
            zerosnet([*CASES["alone"], "--store", "resumed", *limit], folder)
        for name in [*CASES, "folder", "resumed"]:
            for run in sorted(path.parent for path in (folder / name).glob("*/result.json")):
                print(name, run.name, digest(run))


if __name__ == "__main__":
    main()
