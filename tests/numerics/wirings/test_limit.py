from typing import Any

import numpy as np
import pytest

from zerosnet.numerics import Wiring, alike_after, draw_mixing, limit_of

N = 27


def gains(keep: Any, add: Any) -> Wiring:
    return Wiring.of_gains([keep] * N, [add] * N)


def streams(constraint: str, spread: float, write: str = "all", **stages: Any) -> Wiring:
    turns = np.eye(4)[np.arange(N) % 4].tolist()
    A = draw_mixing(constraint, 4, N, spread, seed=1).tolist()
    return Wiring.of_matrices(A, [[1] * 4] * N if write == "all" else turns, turns, [1 / 4] * 4, **stages)


NETWORK = {"blocks": (9, 9, 9), "projection": "each"}


@pytest.mark.parametrize(
    ("wiring", "kind", "words"),
    [
        (gains(1, 1), "none", "27 of 27 blocks reach the head"),
        (gains(2, 1), "grows", "The state alone grows 10^8-fold over 27 blocks"),
        (gains("1/2", 1), "forgets", "the first half of them"),
        (gains(1, "1/100"), "stem", "99.3 % of what the head reads is the stem"),
        (gains(1, 0), "silent", "No block adds anything"),
        (gains(1e50, 1), "grows", "grows 10^1350-fold"),
        (streams("doubly-stochastic", 0), "none", "27 of 27"),
        (streams("doubly-stochastic", 0.5), "alike", "4 streams carry on what one would"),
        (streams("doubly-stochastic", 0.5, **NETWORK), "stages", "every stream has a projection of its own"),
        (streams("doubly-stochastic", 0, "turns"), "apart", "beside one another"),
        (gains("5/4", 1), "grows", "grows 414-fold"),
        (gains("27/20", 1), "grows", "grows 3,300-fold"),
        (streams("free", 1), "grows", "The streams alone grow"),
    ],
)
def test_the_sentence_names_the_cause(wiring: Wiring, kind: str, words: str) -> None:
    found = limit_of(wiring)
    assert found.kind == kind and words in found.sentence
    assert found.sentence.endswith(".") and "\n" not in found.sentence


def test_a_first_state_that_is_remembered_is_no_stream_that_became_alike() -> None:
    wiring = Wiring.of_matrices([[["9/10", "1/10"], [0, 1]]] * 60, [[1, 0]] * 60, [[1, 0]] * 60, [1, 0])
    assert alike_after(wiring) is not None
    assert limit_of(wiring).kind != "alike"


def test_a_head_that_reads_nothing_is_reported() -> None:
    wiring = Wiring.of_matrices([[[1, 0], [0, 1]]] * 4, [[1, 0]] * 4, [[1, 0]] * 4, [0, 0])
    assert limit_of(wiring).kind == "unread"


def test_streams_are_alike_once_they_stay_so() -> None:
    slow = [["3/4", "1/4"], ["1/4", "3/4"]]
    wiring = Wiring.of_matrices([slow] * 20, [[1, 0]] * 20, [[1, 0]] * 20, ["1/2", "1/2"])
    assert alike_after(wiring) == 7  # 1/2^7 is the first below 1 %
    assert alike_after(gains(1, 1)) is None
    assert alike_after(streams("doubly-stochastic", 0)) is None
