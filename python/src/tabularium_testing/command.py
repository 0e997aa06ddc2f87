"""How the fake is started on this machine."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Iterable, List, Mapping, Optional

from .errors import TabulariumError

OLDEST_NODE = (20, 19)
VARIABLE = "TABULARIUM_COMMAND"
_HOW = f"Or set {VARIABLE} to the command, such as `npx tabularium`."


def find_command(folders: Iterable[Path], environ: Mapping[str, str] = os.environ) -> List[str]:
    """The program and its first arguments.

    It is what TABULARIUM_COMMAND says, or the package in the nearest ``node_modules`` of a folder or above, or
    the command ``tabularium`` on the PATH. Nothing is downloaded.
    """
    told = environ.get(VARIABLE, "").strip()
    if told:
        return _resolved(_split(told), environ)
    for folder in folders:
        for place in [folder, *folder.parents]:
            script = _script(place / "node_modules" / "tabularium")
            if script is not None:
                return [_node(environ), str(script)]
    installed = shutil.which("tabularium", path=environ.get("PATH"))
    if installed is not None:
        # The command runs by the `node` on the PATH.
        _node(environ)
        return [installed]
    raise TabulariumError(
        "The npm package tabularium is in no node_modules here or above, and no command `tabularium` is on the "
        f"PATH. Run `npm install --save-dev tabularium`. {_HOW}"
    )


def _split(told: str) -> List[str]:
    if os.name != "nt":
        return shlex.split(told)
    # Backslashes are part of paths there.
    return [part.strip('"') for part in shlex.split(told, posix=False)]


def _resolved(command: List[str], environ: Mapping[str, str]) -> List[str]:
    # Windows finds `npx.cmd` by its full path only.
    program = shutil.which(command[0], path=environ.get("PATH"))
    if program is None:
        raise TabulariumError(f"{VARIABLE} names {command[0]!r}, which is no program on the PATH.")
    return [program, *command[1:]]


def _script(package: Path) -> Optional[Path]:
    try:
        manifest = json.loads((package / "package.json").read_text("utf-8"))
        script = package / str(manifest["bin"]["tabularium"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not script.is_file():
        raise TabulariumError(f"{package} has no {script.name}: it is not built. Run `npm run build` there.")
    return script


def _node(environ: Mapping[str, str]) -> str:
    wanted = ".".join(map(str, OLDEST_NODE))
    node = shutil.which("node", path=environ.get("PATH"))
    if node is None:
        raise TabulariumError(
            f"The fake catalog needs Node {wanted} or later, and no `node` is on the PATH. Install it from "
            f"https://nodejs.org. {_HOW}"
        )
    try:
        told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TabulariumError(f"{node} does not run: {error}. {_HOW}") from error
    version = re.match(r"v(\d+)\.(\d+)", told)
    if version is None or (int(version[1]), int(version[2])) < OLDEST_NODE:
        raise TabulariumError(
            f"The fake catalog needs Node {wanted} or later, and {node} is {told.strip() or 'of no version'}. "
            f"Install a newer one. {_HOW}"
        )
    return node
