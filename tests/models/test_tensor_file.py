"""The same content is the same file, in every process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load

from zerosnet.models.io.weights import tensor_file

WRITE = """
import sys
from pathlib import Path

import torch

from zerosnet.models import create_model, save_model
from zerosnet.training import write_checkpoint

folder = Path(sys.argv[1])
facts = {"run": "a", "seed": 1, "recipe": {"name": "quick", "epochs": 1}}
for name in ("preresnet20", "zerosnet20_opt", "zerosnet20_tra", "zerosnet20_stable"):
    save_model(create_model(name, seed=0), folder / f"{name}.safetensors", facts)
for position in range(1, 9):
    write_checkpoint(folder / str(position), position, {"b": torch.ones(3), "a": torch.zeros(2)}, {"seconds": 1.5})
"""


def files_of_a_process(folder: Path, hash_seed: str) -> dict[str, bytes]:
    folder.mkdir()
    subprocess.run(
        [sys.executable, "-c", WRITE, str(folder)],
        check=True,
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1"},
    )
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.safetensors")}


def test_networks_and_checkpoints_of_two_processes_are_equal_to_the_byte(tmp_path: Path) -> None:
    first, second = files_of_a_process(tmp_path / "first", "1"), files_of_a_process(tmp_path / "second", "2")
    assert len(first) == 12 and first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


@settings(deadline=None, max_examples=30)
@given(st.dictionaries(st.text(max_size=8), st.text(max_size=20), min_size=1, max_size=8))
def test_a_file_is_sorted_aligned_and_read_by_the_library(tmp_path_factory, metadata):
    tensors = {"z": torch.arange(5, dtype=torch.int64), "a": torch.ones(3, dtype=torch.bfloat16), "m": torch.zeros(0)}
    content = tensor_file(tensors, metadata)
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    assert start % 8 == 0 and content[8:9] == b"{"
    assert list(header) == sorted(header) and list(header["__metadata__"]) == sorted(metadata)
    back = load(content)
    assert all(torch.equal(back[name], tensors[name]) and back[name].dtype == tensors[name].dtype for name in tensors)
    path = tmp_path_factory.mktemp("file") / "a.safetensors"
    path.write_bytes(content)
    with safe_open(path, framework="pt") as file:
        assert file.metadata() == metadata
