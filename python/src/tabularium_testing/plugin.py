"""The pytest plugin: the fixtures ``tabularium`` and ``tabularium_seed``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Iterator, List, Mapping, Optional

import pytest

from .catalog import Tabularium
from .command import find_command
from .errors import TabulariumError
from .process import FakeProcess


class _Server:
    """The process of this session, or of this worker of pytest-xdist. One that has ended is replaced."""

    def __init__(self, start: Callable[[], FakeProcess]) -> None:
        self._start = start
        self._process: Optional[FakeProcess] = None

    def running(self) -> FakeProcess:
        if self._process is None or self._process.failure() is not None:
            self.close()
            self._process = self._start()
        return self._process

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("tabularium_start_timeout", "seconds that the fake catalog may take to start", default="60")


@pytest.fixture(scope="session")
def _tabularium_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[_Server]:
    config = request.config
    folders: List[Path] = [config.rootpath, Path.cwd()]

    def start() -> FakeProcess:
        timeout = str(config.getini("tabularium_start_timeout"))
        try:
            seconds = float(timeout)
        except ValueError:
            raise TabulariumError(f"tabularium_start_timeout is {timeout!r}. Give seconds, such as 60.") from None
        return FakeProcess(find_command(folders), tmp_path_factory.mktemp("tabularium"), seconds)

    server = _Server(start)
    yield server
    server.close()


@pytest.fixture
def tabularium_seed() -> Optional[Mapping[str, Any]]:
    """What the catalog of each test holds at first. Override it in a ``conftest.py`` or a class."""
    return None


@pytest.fixture
def tabularium(
    _tabularium_server: _Server, tabularium_seed: Optional[Mapping[str, Any]]
) -> Iterator[Tabularium]:
    """A fake catalog that holds what ``tabularium_seed`` says, and otherwise nothing."""
    process = _tabularium_server.running()
    catalog = Tabularium(process.url, process.token)
    catalog.reset()
    if tabularium_seed is not None:
        catalog.seed(tabularium_seed)
    yield catalog
    failure = process.failure()
    if failure is not None:
        raise TabulariumError(f"The fake catalog ended during the test. {failure}")
    # A call that a fault holds would keep its caller waiting for ever.
    catalog.clear_faults()
