"""Results of runs that were never run."""

from collections.abc import Callable

from zerosnet.training import Result, RunSpec, Store


def finish(store: Store, spec: RunSpec, accuracy: float, best: float | None = None, **fields: object) -> None:
    run = store.claim(spec)
    assert run is not None
    with run:
        top = accuracy if best is None else best
        run.finish(
            Result("finished", spec.recipe.epochs, 1.0, accuracy, 0.1, spec.recipe.epochs, top, **fields)  # type: ignore[arg-type]
        )


def finish_all(store: Store, specs: list[RunSpec], accuracy: Callable[[RunSpec], float]) -> None:
    for spec in specs:
        finish(store, spec, accuracy(spec))
