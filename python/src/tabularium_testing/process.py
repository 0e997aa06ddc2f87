"""The process of a fake: started within a bound of time, and ended with the one that started it."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import threading
import time
from collections import deque
from pathlib import Path
from typing import IO, Any, Deque, Dict, List, Optional

from .errors import TabulariumError

_LISTENING = re.compile(r"tabularium listening on (http://\S+)")
_MOST_LINES = 100
_MOST_OF_LINE = 2_000


class FakeProcess:
    """A running ``tabularium fake``. It ends when its standard input does, so it never outlives this process."""

    def __init__(self, command: List[str], lance_folder: Path, start_timeout: float = 60.0) -> None:
        self.token = secrets.token_urlsafe(24)
        self._said: Deque[str] = deque(maxlen=_MOST_LINES)
        self._url: Optional[str] = None
        self._heard = threading.Event()
        self._command = [
            *command,
            "fake",
            "--control",
            "--end-with-input",
            "--listing",
            "children",
            "--lance-folder",
            str(lance_folder),
        ]
        try:
            self._process: subprocess.Popen[str] = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                # The token is in the environment, as everybody on the machine sees the arguments.
                env={**os.environ, "TABULARIUM_TOKEN": self.token},
                **_apart(),
            )
        except OSError as error:
            raise TabulariumError(f"{self._name} cannot be started: {error}") from error
        self._readers = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (self._process.stdout, self._process.stderr)
        ]
        for reader in self._readers:
            reader.start()
        try:
            self.url = self._wait_for_url(start_timeout)
        except BaseException:
            self.close()
            raise

    @property
    def _name(self) -> str:
        return f"`{' '.join(self._command)}`"

    def failure(self) -> Optional[str]:
        """Why the process runs no more; None while it does."""
        code = self._process.poll()
        if code is None:
            return None
        for reader in self._readers:
            reader.join(timeout=5)
        said = "".join(self._said).strip()
        return f"{self._name} ended with code {code}. " + (f"It said:\n{said}" if said else "It said nothing.")

    def close(self) -> None:
        """Ends the process: it is asked to first, and killed when that takes longer than ten seconds."""
        if self._process.stdin is not None:
            try:
                self._process.stdin.close()
            except OSError:
                pass
        for end in (None, self._process.terminate, self._process.kill):
            if end is not None:
                end()
            try:
                self._process.wait(timeout=10)
                break
            except subprocess.TimeoutExpired:
                continue
        for reader in self._readers:
            reader.join(timeout=5)

    def _wait_for_url(self, timeout: float) -> str:
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            if self._heard.wait(0.05) and self._url is not None:
                return self._url
            failure = self.failure()
            if failure is not None:
                raise TabulariumError(failure + _hint(failure))
        raise TabulariumError(
            f"{self._name} did not listen within {timeout:g} seconds. It said:\n{''.join(self._said).strip()}"
        )

    def _read(self, stream: Optional[IO[str]]) -> None:
        """Reads to the end, so that the process never waits for a reader."""
        assert stream is not None
        with stream:
            # A longer line comes in parts.
            for line in iter(lambda: stream.readline(_MOST_OF_LINE), ""):
                found = None if self._heard.is_set() else _LISTENING.match(line)
                if found is None:
                    self._said.append(line)
                else:
                    self._url = found[1]
                    self._heard.set()


def _apart() -> Dict[str, Any]:
    """An interrupt of the tests does not end the fake before they have ended themselves."""
    if os.name == "nt":
        return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP")}
    return {"start_new_session": True}


def _hint(failure: str) -> str:
    if "unknown option" in failure or "unknown command" in failure:
        return "\nThat release of tabularium is older than tabularium-testing. Install a newer one."
    return ""
