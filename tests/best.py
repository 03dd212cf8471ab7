"""Time on the wall, of which other processes take their share: the best of several turns counts."""

from collections.abc import Callable


def best_of(turns: int, once: Callable[[], float], enough: float) -> float:
    """The least of what `once` measures; after a turn below `enough` there is no other."""
    least = once()
    for _ in range(turns - 1):
        if least < enough:
            break
        least = min(least, once())
    return least
