import pytest
from tests.explorer.browsing import started, texts
from tests.explorer.serving import eventually, served


@pytest.fixture(scope="session")
def client():
    pytest.importorskip("fastapi", reason="the explorer's extra is not installed")
    from fastapi.testclient import TestClient

    from zerosnet.explorer.app import create_app

    return TestClient(create_app(), "http://localhost", raise_server_exceptions=False)


@pytest.fixture(scope="session")
def address():
    pytest.importorskip("uvicorn", reason="the explorer's extra is not installed")
    with served() as url:
        yield url


@pytest.fixture(scope="session")
def browser():
    with started() as driver:
        yield driver


@pytest.fixture
def page(browser, address):
    """Opens an address on a screen of that width, and sees that the browser had nothing to complain about."""

    def open_page(query="", width=1280, height=900, url=address, shown=(".badge strong", ".locus svg", "#scatter svg")):
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get(url + query)
        for selector in shown:
            eventually(lambda selector=selector: texts(browser, selector))
        return browser

    browser.get("about:blank")  # a page left open would go on asking a server that is gone
    browser.get_log("browser")
    yield open_page
    assert browser.get_log("browser") == []
