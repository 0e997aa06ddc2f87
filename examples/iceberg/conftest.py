import pytest
from fake import Fake
from pyiceberg.catalog import load_catalog


@pytest.fixture(scope="session")
def server():
    with Fake() as fake:
        yield fake


@pytest.fixture
def fake(server):
    server.reset()
    return server


@pytest.fixture
def catalog(fake):
    return load_catalog("lake", type="rest", uri=fake.uri)
