"""A fake catalog for tests, with Iceberg REST."""

import json
import subprocess
import urllib.request

COMMAND = ["npx", "tabularium", "fake", "--iceberg", "--control", "--json"]


class Fake:
    """Runs until it is closed, or until this process ends."""

    def __init__(self):
        # With its input the fake ends as well, so none outlives a killed test.
        command = [*COMMAND, "--end-with-input"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        told = json.loads(self._process.stdout.readline())
        self._url, self.uri = told["url"], told["iceberg"]

    def reset(self):
        """Empties the catalog, and ends all faults."""
        self._control("reset", {})

    def fail(self, operation, error, **more):
        """The next call of an operation fails."""
        self._control("faults", {"operation": operation, "fail": error, "times": 1, **more})

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _control(self, what, body):
        url = f"{self._url}/_control/{what}"
        request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
        urllib.request.urlopen(request).close()
