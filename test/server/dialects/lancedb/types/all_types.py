"""What LanceDB's client for Python does with a column of every type of Arrow. Prints one JSON object a line.

    all_types.py make FOLDER          writes the rows of each case as an Arrow IPC stream
    all_types.py create URL           creates a table of each case, and uses it
    all_types.py open URL NAME…       uses tables that others made of the same cases
"""

import datetime
import decimal
import json
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import lancedb
import pyarrow as pa

warnings.simplefilter("ignore")

WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
UNITS = ["s", "ms", "us", "ns"]
ZONES = {"": None, "utc": "UTC", "berlin": "Europe/Berlin", "east": "+05:30", "west": "-08:00", "short": "+0530"}


def leaves():
    """Each type by a name, as two values of which the second is null."""
    for name in WHOLE:
        yield name, pa.array([1, None], getattr(pa, name)())
    for name in ["float16", "float32", "float64"]:
        yield name, pa.array([1.5, None], getattr(pa, name)())
    yield "null", pa.nulls(2)
    yield "bool", pa.array([True, None])
    for name in ["string", "large_string", "string_view"]:
        yield name, pa.array(["a text of more than twelve bytes", None], getattr(pa, name)())
    for name in ["binary", "large_binary", "binary_view"]:
        yield name, pa.array([b"\x00\xff", None], getattr(pa, name)())
    yield "fixed_binary", pa.array([b"abc", None], pa.binary(3))
    yield "fixed_binary_0", pa.array([b"", None], pa.binary(0))
    for unit in UNITS:
        for zone, name in ZONES.items():
            yield f"timestamp_{unit}_{zone}", pa.array([1, None], pa.timestamp(unit, name))
        yield f"duration_{unit}", pa.array([1, None], pa.duration(unit))
    yield "date32", pa.array([datetime.date(2024, 2, 29), None], pa.date32())
    yield "date64", pa.array([datetime.date(2024, 2, 29), None], pa.date64())
    for name, unit in [("time32", "s"), ("time32", "ms"), ("time64", "us"), ("time64", "ns")]:
        yield f"{name}_{unit}", pa.array([1, None], getattr(pa, name)(unit))
    for bits, digits in {
        32: [(5, 2), (9, 0), (9, -2)],
        64: [(5, 2), (18, 3)],
        128: [(5, 2), (38, 10), (38, -3), (20, 20)],
        256: [(5, 2), (39, 0), (76, 20)],
    }.items():
        for precision, scale in digits:
            value = decimal.Decimal(7).scaleb(-scale)
            kind = getattr(pa, f"decimal{bits}")(precision, scale)
            yield f"decimal{bits}_{precision}_{scale}".replace("-", "m"), pa.array([value, None], kind)
    yield "interval", pa.array([pa.MonthDayNano([1, 2, 3]), None])
    for name in WHOLE:
        yield f"dictionary_{name}", dictionary(name, ["a"])
    yield "dictionary_ordered", dictionary("int32", ["a"], ordered=True)
    for name, kind, value in [
        ("large_string", pa.large_string(), "a"),
        ("binary", pa.binary(), b"a"),
        ("int64", pa.int64(), 1),
        ("double", pa.float64(), 1.5),
        ("view", pa.string_view(), "a"),
        ("fixed", pa.binary(2), b"ab"),
        ("day", pa.date32(), datetime.date(2024, 2, 29)),
        ("moment", pa.timestamp("us", "UTC"), 1),
        ("decimal", pa.decimal128(5, 2), decimal.Decimal("1.00")),
        ("list", pa.list_(pa.int32()), [1]),
    ]:
        yield f"dictionary_of_{name}", dictionary("int32", [value], kind)
    yield "run_ends", pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["a", None]))
    kinds = pa.array([0, 1], pa.int8())
    members = [pa.array([1, 2]), pa.array(["a", "b"])]
    yield "sparse_union", pa.UnionArray.from_sparse(kinds, members)
    yield "dense_union", pa.UnionArray.from_dense(kinds, pa.array([0, 1], pa.int32()), members)
    yield "map", pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32()))
    yield "sorted_map", pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32(), keys_sorted=True))
    yield "no_fields", pa.array([{}, None], pa.struct([]))
    yield "json", pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}', None]))
    yield "uuid", pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16, None], pa.binary(16)))
    yield "bool8", pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None], pa.int8()))
    yield "opaque", pa.ExtensionArray.from_storage(pa.opaque(pa.int32(), "x", "y"), pa.array([1, None], pa.int32()))
    tensor = pa.fixed_shape_tensor(pa.int32(), [2])
    yield "tensor", pa.ExtensionArray.from_storage(tensor, pa.array([[1, 2], None], pa.list_(pa.int32(), 2)))


def dictionary(index, values, kind=pa.string(), ordered=False):
    indices = pa.array([0, None], getattr(pa, index)())
    return pa.DictionaryArray.from_arrays(indices, pa.array(values, kind), ordered=ordered)


def in_large_list(values):
    return pa.LargeListArray.from_arrays(pa.array([0, 1, 2], pa.int64()), values)


def in_list(values):
    return pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), values)


def in_struct(values):
    return pa.StructArray.from_arrays([values], fields=[pa.field("f", values.type)])


def in_list_view(values):
    # Both rows show the same values.
    return pa.ListViewArray.from_arrays(pa.array([0, 0], pa.int32()), pa.array([2, 2], pa.int32()), values)


def in_map(values):
    return pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["k", "l"]), values)


PLACES = {
    "bare": lambda values: values,
    "struct": in_struct,
    "list": in_list,
    "large_list": in_large_list,
    "fixed_list": lambda values: pa.FixedSizeListArray.from_arrays(pa.concat_arrays([values, values]), 2),
    "list_view": in_list_view,
    "list_of_structs": lambda values: in_list(in_struct(values)),
    "map": in_map,
}


def is_alike(kind):
    """Whether a type differs from another one in its width or unit only: two places are enough for it."""
    parts = kind.split("_")
    if parts[0] in ("timestamp", "duration", "time32", "time64"):
        return parts[1] != "us"
    return parts[-1] in WHOLE and parts[-1] != "int32" or kind in ("float16", "float64")


def cases():
    for kind, values in leaves():
        for place, put in PLACES.items():
            if is_alike(kind) and place not in ("bare", "list"):
                continue
            table = pa.table({"id": pa.array([1, 2], pa.int64()), "v": put(values)})
            yield f"{kind}.{place}", table
            if place in ("bare", "list"):
                yield f"{kind}.{place}.empty", table.slice(0, 0)
    blob = pa.field("v", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    ids = pa.array([1, 2], pa.int64())
    yield "blob.bare", pa.table([ids, pa.array([b"x", None], pa.large_binary())], pa.schema([("id", pa.int64()), blob]))
    parts = pa.struct([("data", pa.large_binary()), ("uri", pa.string())])
    described = pa.field("v", parts, metadata={"ARROW:extension:name": "lance.blob.v2"})
    rows = pa.array([{"data": b"x", "uri": None}, None], parts)
    yield "blob_v2.bare", pa.table([ids, rows], pa.schema([("id", pa.int64()), described]))


def use(db, name, given, table=None):
    """Opens a table, reads it, and extends it. Answers how far that went, and what was seen."""
    seen = {}
    stage = "open"
    try:
        table = table or db.open_table(name)
        stage = "schema"
        seen["described"] = str(table.schema.field("v").type)
        stage = "count"
        rows = table.count_rows()
        stage = "search"
        answer = table.search().limit(5).to_arrow()
        answer.validate(full=True)
        seen["answered"] = str(answer.schema.field("v").type)
        stage = "filter"
        assert table.search().where("id = 1").limit(5).to_arrow().num_rows == min(rows, 1)
        table.search().where("v is not null").limit(5).to_arrow().validate(full=True)
        stage = "values"
        seen["same"] = same(answer["v"], given["v"])
        stage = "merge"
        merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        # The client itself refuses to merge no rows.
        assert rows == 0 or merge.execute(answer).num_updated_rows == rows
        stage = "add"
        table.add(given)
        stage = "add what was answered"
        table.add(answer)
        assert table.count_rows() == 3 * rows
        stage = "add columns"
        table.add_columns({"next": "id + 1", "copy": "v"})
        table.add_columns(pa.field("again", given.schema.field("v").type))
        stage = "search again"
        assert table.search().limit(9).to_arrow().num_columns == 5
        kind = table.schema.field("v").type
        assert table.schema.field("copy").type == getattr(kind, "storage_type", kind)
        return {"case": name, "stage": "done", **seen}
    except Exception as error:
        return {"case": name, "stage": stage, "error": f"{type(error).__name__}: {error}"[:600], **seen}


def same(answered, given):
    """Whether two columns have the same values, whatever their types."""
    try:
        return answered.to_pylist() == given.to_pylist()
    except Exception:
        # Python has no objects for some nanoseconds and some zones, and a cast of list views takes what they share once.
        if pa.types.is_list_view(given.type):
            given, answered = (
                pa.chunked_array([part.flatten() for part in column.chunks]) for column in (given, answered)
            )
        return given.cast(answered.type).equals(answered)


def create(db, name, given):
    try:
        table = db.create_table(name, given, mode="overwrite")
    except Exception as error:
        left = name in db.table_names(limit=100_000)
        return {"case": name, "stage": "create", "error": f"{type(error).__name__}: {error}"[:600], "left": left}
    used = use(db, name, given, table)
    if used["stage"] != "done":
        return used
    try:
        db.clone_table(f"{name}.clone", table.uri).search().limit(5).to_arrow().validate(full=True)
        db.create_table(name, given, mode="overwrite")
        db.create_table(name, given, exist_ok=True).search().limit(1).to_arrow()
        db.create_table(name, schema=db.open_table(name).schema, exist_ok=True)
    except Exception as error:
        return {**used, "stage": "clone or create again", "error": f"{type(error).__name__}: {error}"[:600]}
    return used


def main(command, target, *names):
    if command == "make":
        for name, table in cases():
            with pa.OSFile(f"{target}/{name}", "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
        return
    connect = lambda: lancedb.connect("db://x", api_key="a-token-for-tests", host_override=target)
    wanted = set(names)
    todo = [(name, table) for name, table in cases() if command == "create" or name in wanted]
    db = connect()
    work = create if command == "create" else use
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda case: work(db, *case), todo):
            print(json.dumps(result), flush=True)


main(*sys.argv[1:])
