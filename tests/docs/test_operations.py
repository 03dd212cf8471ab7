"""What the page of performance says of single operations is what was timed."""

from tests.docs.pages import benchmark, page


def test_single_operations_take_what_the_page_says() -> None:
    measured, text = benchmark("operations-cuda"), " ".join(page("performance.md").split())
    us = {
        (case["networks"], case["with_gradients"]): case["microseconds"]
        for case in measured["cases"]
        if case["channels"] == [16, 32]
    }
    ten, thirty, ten_back, thirty_back = (us[key] for key in ((10, False), (30, False), (10, True), (30, True)))
    bare, within, relu = (ten[f"3x3 16 at 32{end}"] for end in ("", ", bias and relu within", ", relu_ by itself"))
    assert f"{within} us against {bare} (16 channels" in text and f"the ReLU alone takes {relu:.0f} us" in text
    kernels = measured["kernels_of_a_step"]
    assert f"is {kernels['after']} kernels instead of {kernels['before']}" in text
    products = [f"{one['1x1 bmm with copies']:.0f} against {one['1x1 grouped']:.0f}" for one in (ten_back, thirty_back)]
    assert "{} us forward and backward from 16 to 32 channels with 10 networks, {} with 30".format(*products) in text
    strided, dense, pixels = (
        thirty[name] for name in ("strided grouped", "dense, then every second", "2x2 of pixels as channels")
    )
    assert (
        f"{dense:.0f} against {strided:.0f} us; as a" in text
        and f"{pixels:.0f} against {strided:.0f} us in a test" in text
    )
    back = (thirty_back["2x2 of pixels as channels"], thirty_back["strided grouped"])
    assert "{:,.0f} against {:,.0f} us forward and backward".format(*back) in text
