"""Requests to the fake."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any, Dict, Optional, Tuple

from .errors import TabulariumError

_TIMEOUT = 60.0
# A proxy of the environment is for other machines.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Http:
    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self.headers: Dict[str, str] = {"Authorization": f"Bearer {token}"}

    def ask(self, method: str, path: str, body: Optional[object] = None) -> Tuple[int, Any]:
        """The status and the JSON of an answer."""
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body, allow_nan=False).encode(),
            method=method,
            headers={**self.headers, "Content-Type": "application/json"},
        )
        try:
            with _opener.open(request, timeout=_TIMEOUT) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, json.load(refusal)
        except OSError as error:
            raise TabulariumError(f"The fake catalog at {self.url} does not answer: {error}") from error

    def control(self, method: str, path: str, body: Optional[object] = None) -> Any:
        """The JSON of a route that controls the fake."""
        status, answer = self.ask(method, f"/_control{path}", body)
        if status != 200:
            raise TabulariumError(answer.get("detail") or answer.get("error") or f"status {status}")
        return answer
