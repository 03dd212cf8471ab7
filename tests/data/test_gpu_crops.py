"""The kernel that cuts and resizes, in Triton's interpreter: no GPU is needed for its arithmetic."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")

PROGRAM = """
import torch
from zerosnet.data.streamed.gpu_crops import resized_crops
from zerosnet.data.streamed.decode import resize

chance = torch.Generator().manual_seed(0)
cases = [(50, 37, (3, 4, 40, 30)), (16, 16, (0, 0, 16, 16)), (7, 9, (1, 2, 5, 6)), (1, 1, (0, 0, 1, 1)),
         (70, 50, (5, 10, 60, 40)), (33, 1, (0, 0, 33, 1)), (90, 40, (80, 30, 10, 10))]
images = [torch.randint(256, (3, h, w), dtype=torch.uint8, generator=chance) for w, h, _ in cases]
boxes = [box for _, _, box in cases]
found = resized_crops(images, boxes, 9)
parts = [image[:, t:t + h, l:l + w] for image, (l, t, w, h) in zip(images, boxes)]
difference = (found.int() - torch.stack([resize(part, 9, 9) for part in parts]).int()).abs()
assert difference.max() <= 1 and difference.float().mean() < 0.2, difference
assert torch.equal(found[3], images[3].permute(1, 2, 0).expand(9, 9, 3))
"""


def test_the_kernel_resizes_as_torch_does():
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
