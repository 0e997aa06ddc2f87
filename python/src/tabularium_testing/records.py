"""What a fake tells of itself: its calls, its faults and its clock."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote

from .errors import TabulariumError
from .http import Http

#: A duration, or a number of milliseconds.
Duration = Union[timedelta, int, float]
#: An identifier: its names, or one text with ``$`` between them.
Identifier = Union[str, Sequence[str]]


def milliseconds(duration: Duration) -> float:
    return duration / timedelta(milliseconds=1) if isinstance(duration, timedelta) else duration


def names(identifier: Identifier) -> List[str]:
    return identifier.split("$") if isinstance(identifier, str) else list(identifier)


@dataclass(frozen=True)
class Call:
    """A call that the fake got."""

    #: Counts from 1.
    n: int
    #: The operation, such as ``insertIntoTable``.
    operation: str
    #: As JSON; rows are told by their number of bytes.
    request: Dict[str, Any]
    #: ``pending``, ``succeeded`` or ``failed``.
    outcome: str
    response: Optional[Any] = None
    #: ``code``, ``number`` and ``message`` of a failed one.
    error: Optional[Dict[str, Any]] = None
    #: The ``n`` of the transaction that it is part of.
    transaction: Optional[int] = None
    #: The ids of the faults that touched it.
    faults: Sequence[str] = ()
    #: Milliseconds since the epoch, by the clock of the fake.
    started_at: Optional[int] = None
    ended_at: Optional[int] = None

    @classmethod
    def _of(cls, told: Mapping[str, Any]) -> Call:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in told.items() if name in known})


class Fault:
    """A fault in force. ``fired`` says how often it struck, so a test can tell whether it did."""

    def __init__(self, http: Http, told: Mapping[str, Any]) -> None:
        self._http = http
        self.id: str = told["id"]

    @property
    def seen(self) -> int:
        """How many calls it was for."""
        return int(self._state()["seen"])

    @property
    def fired(self) -> int:
        """How many calls it touched."""
        return int(self._state()["fired"])

    def release(self) -> None:
        """Lets go what it holds: delayed calls, and transactions that stay Running."""
        self._http.control("POST", f"/faults/{quote(self.id)}/release")

    def remove(self) -> None:
        """Ends it, and lets go what it holds."""
        self._http.control("DELETE", f"/faults/{quote(self.id)}")

    def _state(self) -> Mapping[str, Any]:
        for told in self._http.control("GET", "/faults")["faults"]:
            if told["id"] == self.id:
                found: Mapping[str, Any] = told
                return found
        raise TabulariumError(f"The fault {self.id} is no longer in force.")

    def __repr__(self) -> str:
        return f"<Fault {self.id}>"


class Clock:
    """The clock of the fake. It stands still until it is moved."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def now(self) -> datetime:
        told = self._http.control("GET", "/clock")
        return datetime.fromtimestamp(told["now"] / 1000, timezone.utc)

    def advance(self, by: Duration) -> None:
        """Moves it on, by a timedelta or by milliseconds."""
        self._http.control("POST", "/clock", {"advance": milliseconds(by)})

    def set(self, to: datetime) -> None:
        """Moves it to a time, which must have a zone."""
        if to.tzinfo is None:
            raise TabulariumError("The clock takes a time with a zone, such as datetime(2030, 1, 1, tzinfo=timezone.utc).")
        self._http.control("POST", "/clock", {"set": to.timestamp() * 1000})
