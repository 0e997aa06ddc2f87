"""The object that tests work with."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from .command import find_command
from .errors import TabulariumError
from .http import Http
from .process import FakeProcess
from .records import Call, Clock, Duration, Fault, Identifier, milliseconds, names
from .seeds import to_json

Operations = Union[str, Sequence[str], None]


class Tabularium:
    """A fake catalog behind HTTP, and what tests arrange in it."""

    def __init__(self, url: str, token: str) -> None:
        #: Where it is, such as ``http://127.0.0.1:41234``.
        self.url = url
        #: What callers must send, as bearer token or API key.
        self.token = token
        #: It, in headers for any client of HTTP.
        self.headers: Dict[str, str] = {"Authorization": f"Bearer {token}"}
        self._http = Http(url, token)
        #: Its clock, which stands still until it is moved.
        self.clock = Clock(self._http)

    # What it holds

    def seed(self, seed: Mapping[str, Any]) -> None:
        """Adds namespaces and tables. A dict is a namespace; a pyarrow table, or a list of dicts, is a table.

        No fault touches it, and it is no call. ``{"prod": {"flights": [{"delay": 75}]}}`` is a table in a
        namespace. A key with ``$`` says more: ``{"$rows": table, "$tags": {"audited": 1}}``. Pandas and Polars
        data frames are tables, too.
        """
        self._http.control("POST", "/seed", to_json(seed))

    def reset(self) -> None:
        """Begins anew: no tables, calls or faults, and the clock where it was at first."""
        self._http.control("POST", "/reset")

    # Clients

    def lancedb(self, **options: Any) -> Any:
        """LanceDB's client, connected as to LanceDB Cloud. Options go to ``lancedb.connect``."""
        return _installed("lancedb").connect(
            "db://tabularium", **{"api_key": self.token, "host_override": self.url, **options}
        )

    async def lancedb_async(self, **options: Any) -> Any:
        """LanceDB's asynchronous client. Options go to ``lancedb.connect_async``."""
        return await _installed("lancedb").connect_async(
            "db://tabularium", **{"api_key": self.token, "host_override": self.url, **options}
        )

    def namespace(self, **properties: str) -> Any:
        """Lance's client of namespaces. Properties go to ``lance_namespace.connect``."""
        told = {"uri": self.url, "header.Authorization": self.headers["Authorization"], **properties}
        return _installed("lance_namespace").connect("rest", told)

    def lance(self, table: Identifier) -> Dict[str, Any]:
        """The arguments by which ``lance.dataset`` and ``lance.write_dataset`` reach a table.

        ``lance.write_dataset(rows, **tabularium.lance("flights"))`` writes one.
        """
        return {"namespace_client": self.namespace(), "table_id": names(table)}

    def ask(self, method: str, path: str, body: Optional[object] = None) -> Tuple[int, Any]:
        """The status and the JSON that a route answers with, such as ``/v1/table/flights/describe``."""
        return self._http.ask(method, path, body)

    # Faults

    def fail(self, operation: Operations = None, error: str = "ServiceUnavailable", **which: Any) -> Fault:
        """Lets calls fail with an error of the protocol, such as ``Throttling`` or ``ConcurrentModification``.

        ``which`` is that of :meth:`fault`. ``when="after"`` makes the change, and does not tell the caller.
        ``message`` and ``retry_after`` (seconds) go with the error.
        """
        return self.fault(operation, fail=error, **which)

    def fault(
        self,
        operation: Operations = None,
        *,
        table: Optional[Identifier] = None,
        namespace: Optional[Identifier] = None,
        delay: Union[Duration, str, None] = None,
        retry_after: Optional[float] = None,
        **more: Any,
    ) -> Fault:
        """Adds a fault to calls of an operation, or of some; of all without one.

        ``table`` and ``namespace`` take only calls that name them. ``nth``, ``times`` and ``probability`` choose among
        them. What happens is ``delay``, ``fail``, ``running``, ``stale`` or ``expired``. Their forms are in the table of
        faults of Tabularium's page on testing.
        """
        told: Dict[str, Any] = {
            "operation": [*operation] if isinstance(operation, (list, tuple)) else operation,
            "table": None if table is None else names(table),
            "namespace": None if namespace is None else names(namespace),
            "delay": delay if delay is None or isinstance(delay, (str, dict)) else milliseconds(delay),
            "retryAfter": retry_after,
            **more,
        }
        given = {name: value for name, value in told.items() if value is not None}
        return Fault(self._http, self._http.control("POST", "/faults", given))

    @property
    def faults(self) -> List[Fault]:
        """Those in force."""
        return [Fault(self._http, told) for told in self._http.control("GET", "/faults")["faults"]]

    def clear_faults(self) -> None:
        """Ends all faults, and lets go what they hold."""
        self._http.control("DELETE", "/faults")

    # Calls

    @property
    def calls(self) -> List[Call]:
        """The calls that it got, oldest first; the latest 1,000."""
        return self.calls_of()

    def calls_of(self, *operations: str) -> List[Call]:
        """The calls of operations, such as ``insertIntoTable``."""
        told = self._http.control("GET", f"/calls?limit=10000&operation={','.join(operations)}")
        return [Call._of(call) for call in told["calls"]]

    def clear_calls(self) -> None:
        """Forgets the calls, as after what a test sets up by a client."""
        self._http.control("DELETE", "/calls")

    def __repr__(self) -> str:
        return f"<Tabularium {self.url}>"


@contextmanager
def fake(command: Optional[Sequence[str]] = None, *, start_timeout: float = 60.0) -> Iterator[Tabularium]:
    """Starts a fake catalog of its own, and ends it with the block.

    ``command`` is the program and its first arguments; by default it is found as the fixture finds it.
    ``start_timeout`` is in seconds.
    """
    found = list(command) if command is not None else find_command([Path.cwd()])
    folder = tempfile.mkdtemp(prefix="tabularium-")
    try:
        process = FakeProcess(found, Path(folder), start_timeout)
        try:
            yield Tabularium(process.url, process.token)
        finally:
            process.close()
    finally:
        # Windows does not remove what a client of Lance still has open.
        shutil.rmtree(folder, ignore_errors=True)


def _installed(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError as error:
        package = {"lance_namespace": "pylance"}.get(name, name)
        raise TabulariumError(f"{name} is not installed. Run `pip install {package}`.") from error
