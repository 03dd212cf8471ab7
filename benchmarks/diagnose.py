"""`zerosnet diagnose` of other people's networks: seconds, and how well shares are predicted at initialisation.

Shares are predicted from the measured wiring under three assumptions about the sizes of branches: each as measured;
one size for all attention branches and one for all MLPs, those of the first layer; one size for all, that of the first
block. Branches count as uncorrelated in all three.
"""

import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from zerosnet.models import WiringDiagnosis, diagnose_network

TIMED = ("timm:vit_small_patch16_224", "timm:resnetv2_50")
THREADS = 2


def run() -> dict[str, Any]:
    return {"threads": THREADS, "timed": [_timed(name) for name in TIMED], "predicted": _predictions()}


def _timed(name: str) -> dict[str, Any]:
    """Time the whole command, start of Python included; other programs may run beside it, so CPU time is kept too."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "zerosnet", "diagnose", name, "--json"],
        env={**os.environ, "OMP_NUM_THREADS": str(THREADS)},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = json.loads(done.stdout)
    print(f"   {name:32} {seconds:5.1f} s, {cpu:5.1f} s of CPU time", flush=True)
    return {
        "name": name,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "load_average": round(os.getloadavg()[0], 1),
        "blocks": len(found["blocks"]),
        "effective_depth": found["effective_depth"],
    }


def _predictions() -> list[dict[str, Any]]:
    rows = []
    for name, build in NETWORKS.items():
        torch.manual_seed(0)
        model, example = build()
        found = diagnose_network(model, example)
        row = {"name": name, "blocks": len(found.blocks), "effective_depth": found.effective_depth.measured}
        row |= {key: _compare(found, sizes) for key, sizes in _assumptions(found).items()}
        rows.append(row)
        print(f"   {name:28} {row}", flush=True)
    return rows


def _assumptions(found: WiringDiagnosis) -> dict[str, Sequence[float]]:
    """List sizes of branches, in units in which the stem has its own."""
    measured = [block.branch_rms for block in found.blocks]
    by_kind = [measured[n % 2] for n in range(len(measured))]
    return {"each": measured, "kind": by_kind, "one": [measured[0]] * len(measured)}


def _compare(found: WiringDiagnosis, sizes: Sequence[float]) -> dict[str, float]:
    """Compare predicted with measured shares; every b of these networks is 1."""
    shares = found.wiring.in_units_of_branches(sizes).shares(stem=1.0)
    errors = [abs(math.log10(share / block.share)) for share, block in zip(shares, found.blocks)]
    depth = float((shares / (shares + 0.1)).sum())
    return {"largest": max(errors), "mean": float(np.mean(errors)), "effective_depth": depth}


def _vit() -> tuple[torch.nn.Module, torch.Tensor]:
    import timm

    generator = torch.Generator().manual_seed(0)
    return timm.create_model("vit_small_patch16_224"), torch.randn(4, 3, 224, 224, generator=generator)


def _gpt2() -> tuple[torch.nn.Module, torch.Tensor]:
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes: dict[str, Any] = {"n_embd": 384, "n_head": 6, "vocab_size": 4096, "bos_token_id": 0, "eos_token_id": 0}
    return GPT2LMHeadModel(GPT2Config(**sizes)), _tokens(4096)


def _llama() -> tuple[torch.nn.Module, torch.Tensor]:
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes: dict[str, Any] = {
        "hidden_size": 384,
        "intermediate_size": 1024,
        "num_hidden_layers": 12,
        "num_attention_heads": 6,
    }
    return LlamaForCausalLM(LlamaConfig(vocab_size=4096, **sizes)), _tokens(4096)


def _tokens(vocabulary: int) -> torch.Tensor:
    return torch.randint(vocabulary, (4, 64), generator=torch.Generator().manual_seed(0))


NETWORKS: dict[str, Callable[[], tuple[torch.nn.Module, torch.Tensor]]] = {
    "ViT-small (timm)": _vit,
    "GPT-2, 12 layers of width 384": _gpt2,
    "Llama, 12 layers of width 384": _llama,
}
