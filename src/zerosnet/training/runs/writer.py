"""Writing checkpoints while training goes on."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self


class BackgroundWriter:
    """One thread that writes; what it could not write is raised by the next call.

    Hand over only what training no longer changes, such as the parts that `snapshot` gives:

        with BackgroundWriter() as writer:
            ...
            writer.submit([partial(run.save_checkpoint, position, part, state) for run, part in zip(runs, parts)])
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None

    def submit(self, jobs: Sequence[Callable[[], object]]) -> None:
        """Run the jobs in order in the background, after waiting for those before them."""
        self.wait()
        self._pending = self._pool.submit(_all, list(jobs))

    def wait(self) -> None:
        """Until everything handed over is on the disk; raises the error of the one that failed."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.wait()
        finally:
            self._pool.shutdown(wait=True)


def _all(jobs: Sequence[Callable[[], object]]) -> None:
    """Try all jobs, so that one run's full disk does not cost the others theirs; then raise the first error."""
    errors = []
    for job in jobs:
        try:
            job()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
