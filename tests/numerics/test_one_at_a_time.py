import time
from concurrent.futures import ThreadPoolExecutor

from zerosnet.numerics import design, solve_stable_set
from zerosnet.numerics.polynomials.one_at_a_time import one_at_a_time


def test_what_works_through_sympy_waits_for_the_others():
    entered = []

    @one_at_a_time
    def busy():
        entered.append("busy")
        time.sleep(0.2)
        entered.append("done")

    with ThreadPoolExecutor(3) as pool:
        pool.submit(busy)
        while not entered:
            time.sleep(0.001)
        calls = [pool.submit(solve_stable_set, lambda k: (1 - k, k)), pool.submit(design, 3, 2)]
        for call in calls:
            call.add_done_callback(lambda _: entered.append("after"))
        found = [call.result() for call in calls]
    assert entered == ["busy", "done", "after", "after"]
    assert str(found[0]) == "(-1, 1]"
