"""Print the outcome of a command that trains: the state of every run, and how to go on."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zerosnet.training import Clock, RunSpec, Store


def show_outcome(specs: "Sequence[RunSpec]", store: "Store", clock: "Clock", json: bool) -> int:
    """Print what became of the runs and return the exit code: 130 or 143 after a signal."""
    from zerosnet.training import distinct, local_world

    if not local_world().writes:
        return exit_code(clock)
    summaries = [_summary(store, spec) for spec in distinct(specs)]
    if json:
        import json as encoder

        print(encoder.dumps(summaries, indent=2))
    else:
        for summary in summaries:
            print(_line(summary))
    open_runs = sum(summary["status"] in ("stopped", "waiting") for summary in summaries)
    if open_runs and clock.must_stop():
        print(f"zerosnet: stopped by {cause(clock)}; the same command goes on with {open_runs} run(s)", file=sys.stderr)
    return exit_code(clock)


def exit_code(clock: "Clock") -> int:
    return 0 if clock.signal is None else 128 + clock.signal


def cause(clock: "Clock") -> str:
    """Name what stopped a command."""
    return "the time limit" if clock.signal is None else clock.signal.name


def _summary(store: "Store", spec: "RunSpec") -> dict[str, Any]:
    if not (store.folder(spec) / "spec.json").exists():
        return {"id": spec.id, "model": spec.model, "seed": spec.seed, "status": "waiting"}
    return store.find(store.folder(spec).name).summary()


def _line(summary: dict[str, Any]) -> str:
    parts = [summary["id"], summary["status"]]
    if summary["status"] == "finished":
        parts.append(f"test {summary['test_accuracy']:.2%}")
        if "test_top5_accuracy" in summary:
            parts.append(f"top-5 {summary['test_top5_accuracy']:.2%}")
        if "best_test_accuracy" in summary:
            parts.append(f"best {summary['best_test_accuracy']:.2%} (epoch {summary.get('best_epoch', '?')})")
        if "train_accuracy" in summary:
            parts.append(f"train {summary['train_accuracy']:.2%}")
    elif summary["status"] == "diverged":
        parts.append(summary["reason"])
    elif "epochs" in summary:
        epochs, steps = summary["epochs"], summary["steps"]
        parts.append(f"after {epochs} epoch{'' if epochs == 1 else 's'}" + (f", at step {steps}" if steps else ""))
    return "  ".join(parts)
