"""Seeds as JSON: what holds rows becomes Arrow, so that no type is lost."""

from __future__ import annotations

import base64
from typing import Any, Dict, List, Mapping, Sequence

from .errors import TabulariumError


def to_json(seed: Mapping[str, Any]) -> Dict[str, Any]:
    """A seed that the fake understands. Errors name the place."""
    if not isinstance(seed, Mapping):
        raise TabulariumError(f"seed is of type {type(seed).__name__}. Give a dict of names, such as {{'flights': rows}}.")
    return _inside(seed, "seed")


def _inside(given: Mapping[str, Any], path: str) -> Dict[str, Any]:
    told: Dict[str, Any] = {}
    for name, value in given.items():
        if not isinstance(name, str):
            raise TabulariumError(f"{path} has the name {name!r}. Names are texts.")
        at = f"{path}.{name}"
        if name == "$rows":
            told.update(_rows(value, at))
        elif name == "$changes":
            told[name] = [_change(change, f"{at}[{i}]") for i, change in enumerate(value)]
        elif name.startswith("$"):
            told[name] = value
        elif isinstance(value, Mapping):
            told[name] = _inside(value, at)
        else:
            told[name] = _rows(value, at)
    return told


def _change(change: Any, path: str) -> Any:
    if not isinstance(change, Mapping) or "insert" not in change:
        return change
    rows = _rows(change["insert"], f"{path}.insert")
    return {**change, "insert": rows.get("$rows", rows)}


def _rows(given: Any, path: str) -> Dict[str, Any]:
    if isinstance(given, (bytes, bytearray, memoryview)):
        return {"$arrow": base64.b64encode(given).decode()}
    if hasattr(given, "__arrow_c_stream__"):
        return {"$arrow": _ipc(_pyarrow(path).table(given))}
    if hasattr(given, "__arrow_c_array__"):
        return {"$arrow": _ipc(_pyarrow(path).table(_pyarrow(path).record_batch(given)))}
    if isinstance(given, (list, tuple)) and all(isinstance(row, Mapping) for row in given):
        return _plain(given, path) if given else {"$rows": []}
    raise TabulariumError(
        f"{path} is of type {type(given).__name__}. Give a pyarrow table or a list of dicts for a table, a dict for a namespace."
    )


def _plain(rows: Sequence[Mapping[str, Any]], path: str) -> Dict[str, Any]:
    """Rows with the types that pyarrow gives them, or without it those of JSON."""
    try:
        pyarrow = _pyarrow(path)
    except TabulariumError:
        return {"$rows": [dict(row) for row in rows]}
    # A column may be missing in the first row.
    columns: List[str] = list(dict.fromkeys(name for row in rows for name in row))
    try:
        table = pyarrow.table({name: [row.get(name) for row in rows] for name in columns})
    except (TypeError, ValueError) as error:
        raise TabulariumError(f"{path} has values that fit in no column: {error}. Give a pyarrow table.") from error
    return {"$arrow": _ipc(table)}


def _ipc(table: Any) -> str:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def _pyarrow(path: str) -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError as error:
        raise TabulariumError(f"{path} holds Arrow data, which needs pyarrow. Run `pip install pyarrow`.") from error
    return pyarrow
