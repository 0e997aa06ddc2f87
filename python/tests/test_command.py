"""Finding and starting the fake, and what is said when that fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tabularium_testing import TabulariumError, fake
from tabularium_testing.command import find_command

posix = pytest.mark.skipif(os.name == "nt", reason="makes programs of shell scripts")


def program(folder: Path, name: str, script: str) -> str:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(folder)


def package(folder: Path, built: bool = True) -> Path:
    found = folder / "node_modules" / "tabularium"
    found.mkdir(parents=True)
    (found / "package.json").write_text('{"bin": {"tabularium": "dist/cli.js"}}')
    if built:
        (found / "dist").mkdir()
        (found / "dist" / "cli.js").touch()
    return found


def test_the_variable_comes_first(tmp_path):
    package(tmp_path)
    told = {"TABULARIUM_COMMAND": f'"{sys.executable}" "a b.js"', "PATH": os.environ["PATH"]}
    assert find_command([tmp_path], told) == [sys.executable, "a b.js"]
    with pytest.raises(TabulariumError, match="'nothing'.*no program"):
        find_command([tmp_path], {"TABULARIUM_COMMAND": "nothing", "PATH": ""})


@posix
def test_the_nearest_package_is_found(tmp_path):
    path = program(tmp_path, "node", "echo v22.1.0")
    found = package(tmp_path)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_command([below], {"PATH": path}) == [str(tmp_path / "node"), str(found / "dist" / "cli.js")]


@posix
def test_the_command_on_the_path_is_found(tmp_path):
    path = program(tmp_path, "node", "echo v22.1.0")
    program(tmp_path, "tabularium", "")
    assert find_command([tmp_path], {"PATH": path}) == [str(tmp_path / "tabularium")]


@posix
@pytest.mark.parametrize(
    "node, built, message",
    [
        (None, True, "no `node` is on the PATH"),
        ("echo v18.20.1", True, "needs Node 20.19 or later, and .*/node is v18.20.1"),
        ("echo what", True, "is what"),
        ("echo v22.1.0", False, "is not built"),
        ("echo v22.1.0", None, "Run `npm install --save-dev tabularium`"),
    ],
)
def test_what_is_missing_is_said(tmp_path, node, built, message):
    if node is not None:
        program(tmp_path, "node", node)
    if built is not None:
        package(tmp_path, built)
    with pytest.raises(TabulariumError, match=message):
        find_command([tmp_path], {"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    "script, message",
    [
        ("import sys; print('out of luck', file=sys.stderr); sys.exit(3)", r"ended with code 3\. It said:\nout of luck"),
        ("import sys; print(\"unknown option '--end-with-input'\"); sys.exit(2)", "is older than tabularium-testing"),
        ("", "ended with code 0. It said nothing"),
        ("import sys; print('x' * 5000); sys.stdin.read()", "did not listen within 2 seconds"),
    ],
)
def test_a_command_that_is_no_fake_is_told_of(script, message):
    with pytest.raises(TabulariumError, match=message):
        with fake([sys.executable, "-c", script], start_timeout=2 if "stdin" in script else 60):
            pass


def test_a_program_that_is_not_there_is_told_of():
    with pytest.raises(TabulariumError, match="cannot be started"):
        with fake(["no such program"]):
            pass


def test_a_fake_without_pytest():
    with fake() as tabularium:
        tabularium.seed({"flights": [{"delay": 75}]})
        assert tabularium.ask("POST", "/v1/table/flights/count_rows", {}) == (200, 1)
    with pytest.raises(TabulariumError, match="does not answer"):
        tabularium.reset()


KILLED = """
import os, sys
from tabularium_testing import fake
with fake() as tabularium:
    print(tabularium.url, flush=True)
    sys.stdin.readline()
    os._exit(9)
"""


def test_it_ends_with_the_process_that_started_it():
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        url = process.stdout.readline().strip()
        assert answers(url)
        process.communicate("\n")
    assert process.returncode == 9
    while answers(url):
        pass


def answers(url: str) -> bool:
    from tabularium_testing.http import Http

    try:
        return Http(url, "").ask("GET", "/v1/namespace/$/list")[0] == 401
    except TabulariumError:
        return False
