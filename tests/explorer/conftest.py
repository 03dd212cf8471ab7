import pytest


@pytest.fixture(scope="session")
def client():
    pytest.importorskip("fastapi", reason="the explorer's extra is not installed")
    from fastapi.testclient import TestClient

    from zerosnet.explorer.app import create_app

    return TestClient(create_app(), raise_server_exceptions=False)
