"""PyIceberg against a server: pyiceberg_flow.py URL WAREHOUSE."""

import datetime as dt
import json
import sys
import urllib.parse
import uuid
from decimal import Decimal

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.table.statistics import BlobMetadata, StatisticsFile
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform
from pyiceberg.types import *
from pyiceberg.view.metadata import SQLViewRepresentation, ViewRepresentation, ViewVersion

from steps import end, expect, refused, step

url, warehouse = sys.argv[1:3]
catalog = load_catalog("flow", type="rest", uri=url)
paged = load_catalog("paged", type="rest", uri=url, **{"rest-page-size": "3"})
run = uuid.uuid4().hex[:8]
root = f"py_{run}"
flights_type = pa.schema([("origin", pa.string()), ("delay", pa.int64())])


def rows(*delays, origin="SFO", **more):
    table = pa.table({"origin": [origin] * len(delays), "delay": list(delays)}, schema=flights_type)
    for name, value in more.items():
        table = table.append_column(name, pa.array([value] * len(delays)))
    return table


def count(name, **options):
    return catalog.load_table(name).scan(**options).to_arrow().num_rows


# Namespaces


@step("create a namespace with properties")
def _():
    catalog.create_namespace(root, {"owner": "flow", "text": 'a "b"\n☃ 𝄞'})
    found = catalog.load_namespace_properties(root)
    return expect({key: found[key] for key in ("owner", "text")}, {"owner": "flow", "text": 'a "b"\n☃ 𝄞'})


@step("create it again: refused")
def _():
    return refused(NamespaceAlreadyExistsError, lambda: catalog.create_namespace(root))


@step("create_namespace_if_not_exists")
def _():
    catalog.create_namespace_if_not_exists(root)


@step("nested namespaces")
def _():
    catalog.create_namespace((root, "deep"), {"level": "2"})
    catalog.create_namespace((root, "deep", "er"))
    expect(catalog.list_namespaces(root), [(root, "deep")])
    expect(catalog.list_namespaces((root, "deep")), [(root, "deep", "er")])
    return expect(catalog.list_namespaces((root, "deep", "er")), [])


@step("the list of the root has it once, and none that is nested")
def _():
    listed = catalog.list_namespaces()
    expect(listed.count((root,)), 1)
    return expect([name for name in listed if len(name) != 1], [])


@step("the list of a missing namespace: refused")
def _():
    return refused(NoSuchNamespaceError, lambda: catalog.list_namespaces(f"missing_{run}"))


@step("a nested namespace below a missing one: refused")
def _():
    # The client has no class for this answer.
    return refused(Exception, lambda: catalog.create_namespace((f"missing_{run}", "child")), "NoSuchNamespace")


@step("namespace_exists")
def _():
    expect(catalog.namespace_exists((root, "deep", "er")), True)
    return expect(catalog.namespace_exists((root, "deep", "est")), False)


@step("update properties of a namespace")
def _():
    summary = catalog.update_namespace_properties(root, removals={"owner", "nothing"}, updates={"a": "1", "b": "2"})
    expect((sorted(summary.updated), summary.removed, summary.missing), (["a", "b"], ["owner"], ["nothing"]))
    found = catalog.load_namespace_properties(root)
    return expect(("owner" in found, found["a"], found["b"]), (False, "1", "2"))


@step("remove and update one property at once: refused")
def _():
    return refused(Exception, lambda: catalog.update_namespace_properties(root, removals={"a"}, updates={"a": "2"}))


@step("properties of a missing namespace: refused")
def _():
    refused(NoSuchNamespaceError, lambda: catalog.update_namespace_properties(f"missing_{run}", updates={"a": "2"}))
    return refused(NoSuchNamespaceError, lambda: catalog.load_namespace_properties(f"missing_{run}"))


@step("drop a namespace that is not empty: refused")
def _():
    return refused(NamespaceNotEmptyError, lambda: catalog.drop_namespace((root, "deep")))


@step("drop a namespace that is not there: refused")
def _():
    return refused(NoSuchNamespaceError, lambda: catalog.drop_namespace(f"missing_{run}"))


@step("list namespaces in pages")
def _():
    names = [(root, "pages", f"n{at:02}") for at in range(10)]
    catalog.create_namespace((root, "pages"))
    for name in names:
        catalog.create_namespace(name)
    expect(sorted(paged.list_namespaces((root, "pages"))), names)
    return expect(sorted(catalog.list_namespaces((root, "pages"))), names)


@step("names with other characters")
def _():
    names = ["with space", "ünïcödé ☃", "emoji 🦭", "plus+percent%25", "quote'\"", "UPPER", "a-b_c", "question?#&="]
    catalog.create_namespace((root, "names"))
    for name in names:
        catalog.create_namespace((root, "names", name))
        expect(catalog.namespace_exists((root, "names", name)), True)
    return expect(sorted(catalog.list_namespaces((root, "names"))), sorted((root, "names", name) for name in names))


# Tables


@step("create a table from a schema of Arrow")
def _():
    table = catalog.create_table((root, "flights"), schema=flights_type, properties={"k": "v"})
    expect(table.properties["k"], "v")
    expect([field.field_id for field in table.schema().fields], [1, 2])
    expect(table.format_version, 2)
    expect(table.current_snapshot(), None)
    return table.location()


@step("create it again: refused")
def _():
    return refused(TableAlreadyExistsError, lambda: catalog.create_table((root, "flights"), schema=flights_type))


@step("create_table_if_not_exists")
def _():
    table = catalog.create_table_if_not_exists((root, "flights"), schema=flights_type)
    return expect(table.properties["k"], "v")


@step("create a table in a missing namespace: refused")
def _():
    return refused(NoSuchNamespaceError, lambda: catalog.create_table((f"missing_{run}", "t"), schema=flights_type))


@step("load a missing table: refused")
def _():
    return refused(NoSuchTableError, lambda: catalog.load_table((root, "missing")))


@step("table_exists")
def _():
    expect(catalog.table_exists((root, "flights")), True)
    return expect(catalog.table_exists((root, "missing")), False)


all_types = Schema(
    NestedField(1, "b", BooleanType(), required=True, doc="a boolean"),
    NestedField(2, "i", IntegerType()),
    NestedField(3, "l", LongType()),
    NestedField(4, "f", FloatType()),
    NestedField(5, "d", DoubleType()),
    NestedField(6, "dec", DecimalType(38, 10)),
    NestedField(7, "date", DateType()),
    NestedField(8, "time", TimeType()),
    NestedField(9, "ts", TimestampType()),
    NestedField(10, "tz", TimestamptzType()),
    NestedField(11, "s", StringType()),
    NestedField(12, "u", UUIDType()),
    NestedField(13, "fix", FixedType(4)),
    NestedField(14, "bin", BinaryType()),
    NestedField(15, "list", ListType(20, IntegerType(), element_required=True)),
    NestedField(16, "map", MapType(21, StringType(), 22, LongType(), value_required=False)),
    NestedField(17, "struct", StructType(NestedField(23, "x", LongType(), required=True), NestedField(24, "y", StringType()))),
    NestedField(
        18,
        "deep",
        ListType(25, StructType(NestedField(26, "m", MapType(27, IntegerType(), 28, ListType(29, StringType(), False))))),
    ),
    identifier_field_ids=[1],
)


@step("a table of all types")
def _():
    table = catalog.create_table((root, "types"), schema=all_types)
    schema = catalog.load_table((root, "types")).schema()
    expect([(f.name, f.required, f.doc) for f in schema.fields], [(f.name, f.required, f.doc) for f in all_types.fields])
    expect([str(f.field_type) for f in schema.fields[:14]], [str(f.field_type) for f in all_types.fields[:14]])
    expect(schema.identifier_field_names(), {"b"})
    value = {
        **{"b": True, "i": 2**31 - 1, "l": -(2**63), "f": 1.5, "d": 1e300, "dec": Decimal("1234567890.0123456789")},
        **{"date": dt.date(1969, 12, 31), "time": dt.time(23, 59, 59, 999999), "ts": dt.datetime(2024, 2, 29, 12)},
        **{"tz": dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone.utc), "s": "☃", "u": uuid.uuid4().bytes},
        **{"fix": b"abcd", "bin": b"\0\xff", "list": [1, 2], "map": [("k", 1), ("n", None)]},
        **{"struct": {"x": 1, "y": None}, "deep": [{"m": [(1, ["a", None])]}]},
    }
    table.append(pa.Table.from_pylist([value], schema=table.schema().as_arrow()))
    found = catalog.load_table((root, "types")).scan().to_arrow().to_pylist()[0]
    return expect({key: found[key] for key in ("l", "dec", "s", "list", "deep")}, {key: value[key] for key in ("l", "dec", "s", "list", "deep")})


@step("a partitioned and sorted table")
def _():
    schema = Schema(
        NestedField(1, "id", LongType()), NestedField(2, "at", TimestampType()), NestedField(3, "name", StringType())
    )
    spec = PartitionSpec(
        PartitionField(source_id=2, field_id=1000, transform=DayTransform(), name="at_day"),
        PartitionField(source_id=1, field_id=1001, transform=BucketTransform(4), name="id_bucket"),
    )
    order = SortOrder(
        SortField(source_id=3, transform=TruncateTransform(2), direction=SortDirection.DESC, null_order=NullOrder.NULLS_LAST),
        SortField(source_id=1, transform=IdentityTransform()),
    )
    table = catalog.create_table((root, "events"), schema=schema, partition_spec=spec, sort_order=order)
    expect([(field.name, field.field_id) for field in table.spec().fields], [("at_day", 1000), ("id_bucket", 1001)])
    expect(table.sort_order().order_id, 1)
    table.append(
        pa.table(
            {"id": [1, 2, 3], "at": [dt.datetime(2024, 1, day) for day in (1, 1, 2)], "name": ["a", "b", "c"]},
        )
    )
    found = catalog.load_table((root, "events"))
    expect(found.scan(row_filter="at >= '2024-01-02T00:00:00'").to_arrow().num_rows, 1)
    return expect(found.inspect.partitions().num_rows >= 2, True)


@step("a table at a location of its own")
def _():
    location = f"file://{warehouse}/own_{run}"
    table = catalog.create_table((root, "own"), schema=flights_type, location=location + "/")
    expect(table.location(), location)
    table.append(rows(1))
    # Some write such a URL with one slash.
    return expect(table.metadata_location.rpartition("/")[0].replace("file:///", "file:/"), f"file:{warehouse}/own_{run}/metadata")


@step("staged create: nothing is there before its commit")
def _():
    with catalog.create_table_transaction((root, "staged"), schema=flights_type, properties={"a": "b"}) as transaction:
        with transaction.update_schema() as update:
            update.add_column("note", StringType())
        transaction.set_properties(c="d")
        transaction.append(rows(1, 2, note="x"))
        expect(catalog.table_exists((root, "staged")), False)
    table = catalog.load_table((root, "staged"))
    expect((table.properties["a"], table.properties["c"]), ("b", "d"))
    return expect(table.scan().to_arrow().num_rows, 2)


@step("staged create that another creation was faster than: refused")
def _():
    transaction = catalog.create_table_transaction((root, "raced"), schema=flights_type)
    catalog.create_table((root, "raced"), schema=flights_type, properties={"first": "yes"})
    said = refused((CommitFailedException, TableAlreadyExistsError), transaction.commit_transaction)
    expect(catalog.load_table((root, "raced")).properties["first"], "yes")
    return said


# Rows


@step("append, overwrite, delete, upsert")
def _():
    table = catalog.load_table((root, "flights"))
    table.append(rows(75, 5))
    table.append(rows(12, origin="OAK"))
    expect(count((root, "flights")), 3)
    table.delete("origin = 'OAK'")
    expect(count((root, "flights")), 2)
    table.overwrite(rows(1, 2, 3), overwrite_filter="delay > 60")
    expect(count((root, "flights")), 4)
    table.overwrite(rows(90, origin="JFK"))
    expect(count((root, "flights")), 1)
    expect(table.delete("origin = 'nowhere'"), None)
    done = table.upsert(rows(90, 91, origin="JFK"), join_cols=["delay"])
    expect((done.rows_inserted, count((root, "flights"))), (1, 2))
    return [snapshot.summary.operation.value for snapshot in catalog.load_table((root, "flights")).snapshots()]


@step("several changes in one transaction are one commit")
def _():
    table = catalog.load_table((root, "flights"))
    before = len(table.metadata.metadata_log)
    with table.transaction() as transaction:
        transaction.append(rows(7))
        transaction.append(rows(8))
        transaction.set_properties({"batch": "1"})
    found = catalog.load_table((root, "flights"))
    expect(len(found.metadata.metadata_log), before + 1)
    return expect((found.properties["batch"], found.scan().to_arrow().num_rows), ("1", 4))


@step("dynamic partition overwrite")
def _():
    schema = Schema(NestedField(1, "day", StringType()), NestedField(2, "n", LongType()))
    by_day = PartitionSpec(PartitionField(source_id=1, field_id=1000, transform=IdentityTransform(), name="day"))
    table = catalog.create_table((root, "days"), schema=schema, partition_spec=by_day)
    table.append(pa.table({"day": ["mon", "tue"], "n": [1, 2]}))
    table.dynamic_partition_overwrite(pa.table({"day": ["tue", "tue"], "n": [3, 4]}))
    return expect(sorted(catalog.load_table((root, "days")).scan().to_arrow()["n"].to_pylist()), [1, 3, 4])


@step("reading a snapshot, and a scan of what was appended")
def _():
    table = catalog.load_table((root, "flights"))
    first = table.snapshots()[0].snapshot_id
    expect(table.scan(snapshot_id=first).to_arrow().num_rows, 2)
    return expect(table.snapshot_as_of_timestamp(table.snapshots()[0].timestamp_ms).snapshot_id, first)


# Evolution


@step("schema: add, nested add, rename, promote, move, drop, requirement, doc")
def _():
    schema = Schema(
        NestedField(1, "a", IntegerType()),
        NestedField(2, "b", FloatType()),
        NestedField(3, "c", DecimalType(9, 2)),
        NestedField(4, "s", StructType(NestedField(5, "x", IntegerType()))),
        NestedField(6, "gone", StringType(), required=False),
        NestedField(7, "must", StringType(), required=True),
    )
    table = catalog.create_table((root, "evolving"), schema=schema)
    with table.update_schema() as update:
        update.add_column("added", StringType(), doc="new")
        update.add_column(("s", "y"), LongType())
        update.add_column("nested", ListType(100, StructType(NestedField(101, "z", LongType()))))
    with table.update_schema() as update:
        update.rename_column("added", "renamed")
        update.rename_column("s.x", "first")
    with table.update_schema() as update:
        update.update_column("a", LongType())
        update.update_column("b", DoubleType())
        update.update_column("c", DecimalType(18, 2))
        update.update_column("must", required=False, doc="may")
    with table.update_schema() as update:
        update.move_first("renamed")
        update.move_after("b", "must")
        update.move_before("s.y", "s.first")
    with table.update_schema() as update:
        update.delete_column("gone")
    found = catalog.load_table((root, "evolving"))
    expect([f.name for f in found.schema().fields], ["renamed", "a", "c", "s", "must", "b", "nested"])
    expect([f.name for f in found.schema().find_field("s").field_type.fields], ["y", "first"])
    expect([str(found.schema().find_field(name).field_type) for name in "abc"], ["long", "double", "decimal(18, 2)"])
    expect(sorted(found.schemas()), [0, 1, 2, 3, 4, 5])
    return expect(found.metadata.last_column_id, max(found.schema().field_ids))


@step("schema: the same change twice gives the schema its old id")
def _():
    table = catalog.load_table((root, "evolving"))
    before = table.schema().schema_id
    with table.update_schema() as update:
        update.add_column("again", StringType())
    with table.update_schema() as update:
        update.delete_column("again")
    return expect(catalog.load_table((root, "evolving")).schema().schema_id, before)


@step("schema: union by name")
def _():
    table = catalog.load_table((root, "flights"))
    with table.update_schema() as update:
        update.union_by_name(pa.schema([("origin", pa.string()), ("seats", pa.int32())]))
    return expect(catalog.load_table((root, "flights")).schema().column_names, ["origin", "delay", "seats"])


@step("schema: old rows have null in a new column")
def _():
    table = catalog.load_table((root, "flights"))
    table.append(rows(1).append_column("seats", pa.array([3], pa.int32())))
    seats = catalog.load_table((root, "flights")).scan().to_arrow()["seats"].to_pylist()
    return expect(sorted(seats, key=str), [3, None, None, None, None])


@step("identifier fields")
def _():
    table = catalog.create_table(
        (root, "keyed"), schema=Schema(NestedField(1, "k", LongType(), required=True), NestedField(2, "v", StringType()))
    )
    with table.update_schema() as update:
        update.set_identifier_fields("k")
    return expect(catalog.load_table((root, "keyed")).schema().identifier_field_names(), {"k"})


@step("partition evolution: add, rename, remove")
def _():
    table = catalog.create_table(
        (root, "parts"), schema=Schema(NestedField(1, "k", LongType()), NestedField(2, "v", StringType()))
    )
    table.append(pa.table({"k": [1], "v": ["a"]}))
    with table.update_spec() as update:
        update.add_field("k", BucketTransform(8), "k_bucket")
        update.add_identity("v")
    table.append(pa.table({"k": [2, 3], "v": ["a", "b"]}))
    with table.update_spec() as update:
        update.rename_field("k_bucket", "bucket")
    with table.update_spec() as update:
        update.remove_field("v")
    found = catalog.load_table((root, "parts"))
    expect([field.name for field in found.spec().fields], ["bucket"])
    expect(found.last_partition_id(), 1001)
    expect(sorted(found.specs()), list(range(len(found.specs()))))
    return expect(found.scan().to_arrow().num_rows, 3)


@step("sort order evolution")
def _():
    table = catalog.load_table((root, "parts"))
    with table.update_sort_order() as update:
        update.asc("k", IdentityTransform(), NullOrder.NULLS_FIRST)
    expect(catalog.load_table((root, "parts")).sort_order().order_id, 1)
    with table.update_sort_order() as update:
        update.desc("v", IdentityTransform(), NullOrder.NULLS_LAST)
    found = catalog.load_table((root, "parts"))
    expect(found.sort_order().order_id, 2)
    return expect(sorted(found.sort_orders()), [0, 1, 2])


@step("properties: set and remove")
def _():
    table = catalog.load_table((root, "flights"))
    with table.transaction() as transaction:
        transaction.set_properties({"one": "1", "two": "☃"})
    with table.transaction() as transaction:
        transaction.remove_properties("one")
    found = catalog.load_table((root, "flights")).properties
    return expect(("one" in found, found["two"]), (False, "☃"))


@step("upgrade from format version 1 to 2")
def _():
    table = catalog.create_table((root, "old"), schema=flights_type, properties={"format-version": "1"})
    expect(table.format_version, 1)
    table.append(rows(1))
    with table.transaction() as transaction:
        transaction.upgrade_table_version(2)
    found = catalog.load_table((root, "old"))
    expect("format-version" in found.properties, False)
    found.append(rows(2))
    return expect((found.format_version, found.scan().to_arrow().num_rows), (2, 2))


@step("format version 3: create, load, evolve")
def _():
    table = catalog.create_table((root, "v3"), schema=flights_type, properties={"format-version": "3"})
    expect(table.format_version, 3)
    with table.update_schema() as update:
        update.add_column("nanos", TimestampNanoType())
    with table.transaction() as transaction:
        transaction.set_properties(three="3")
    found = catalog.load_table((root, "v3"))
    expect(found.metadata.next_row_id, 0)
    return expect((found.properties["three"], found.schema().column_names), ("3", ["origin", "delay", "nanos"]))


# Snapshots and refs


@step("tags and branches: create, read, remove")
def _():
    table = catalog.load_table((root, "flights"))
    ids = [entry.snapshot_id for entry in table.snapshots()]
    with table.manage_snapshots() as manage:
        manage.create_tag(ids[0], "first", max_ref_age_ms=2**40)
        manage.create_branch(ids[1], "dev", min_snapshots_to_keep=2, max_snapshot_age_ms=86_400_000, max_ref_age_ms=2**41)
    refs = catalog.load_table((root, "flights")).refs()
    expect(sorted(refs), ["dev", "first", "main"])
    dev = refs["dev"]
    expect((dev.snapshot_id, dev.min_snapshots_to_keep, dev.max_snapshot_age_ms), (ids[1], 2, 86_400_000))
    expect(refs["first"].max_ref_age_ms, 2**40)
    with table.manage_snapshots() as manage:
        manage.remove_tag("first")
    return expect(sorted(catalog.load_table((root, "flights")).refs()), ["dev", "main"])


@step("a write to a branch leaves main as it is")
def _():
    table = catalog.load_table((root, "flights"))
    main = table.current_snapshot().snapshot_id
    whole = pa.table({"origin": ["BRA"], "delay": [1], "seats": [1]}, schema=table.schema().as_arrow())
    table.append(whole, branch="dev")
    found = catalog.load_table((root, "flights"))
    expect(found.current_snapshot().snapshot_id, main)
    on_dev = found.scan(snapshot_id=found.snapshot_by_name("dev").snapshot_id).to_arrow()
    return expect("BRA" in on_dev["origin"].to_pylist(), True)


@step("roll back, and forward to a branch")
def _():
    table = catalog.load_table((root, "flights"))
    ids = [entry.snapshot_id for entry in table.history()]
    table.manage_snapshots().rollback_to_snapshot(ids[0]).commit()
    expect(count((root, "flights")), 2)
    table.manage_snapshots().set_current_snapshot(ref_name="dev").commit()
    found = catalog.load_table((root, "flights"))
    expect(found.current_snapshot().snapshot_id, found.refs()["dev"].snapshot_id)
    return [entry.snapshot_id for entry in found.history()]


@step("expire snapshots")
def _():
    table = catalog.load_table((root, "flights"))
    keep = {ref.snapshot_id for ref in table.refs().values()}
    gone = [entry.snapshot_id for entry in table.snapshots() if entry.snapshot_id not in keep]
    table.maintenance.expire_snapshots().by_ids(gone).commit()
    found = catalog.load_table((root, "flights"))
    expect({entry.snapshot_id for entry in found.snapshots()}, keep)
    # The log names only snapshots that are there.
    expect({entry.snapshot_id for entry in found.history()} <= keep, True)
    return f"{len(gone)} expired"


@step("expire the snapshot of a branch: refused")
def _():
    table = catalog.load_table((root, "flights"))
    head = table.current_snapshot().snapshot_id
    return refused(ValueError, lambda: table.maintenance.expire_snapshots().by_id(head).commit())


@step("remove a branch")
def _():
    table = catalog.load_table((root, "flights"))
    table.manage_snapshots().remove_branch("dev").commit()
    return expect(sorted(catalog.load_table((root, "flights")).refs()), ["main"])


@step("statistics: set and remove")
def _():
    table = catalog.load_table((root, "flights"))
    at = table.current_snapshot().snapshot_id
    blob = BlobMetadata(type="apache-datasketches-theta-v1", snapshot_id=at, sequence_number=1, fields=[1], properties={"ndv": "3"})
    told = StatisticsFile(
        snapshot_id=at,
        statistics_path=f"{table.location()}/metadata/s.puffin",
        file_size_in_bytes=413,
        file_footer_size_in_bytes=42,
        blob_metadata=[blob],
    )
    table.update_statistics().set_statistics(told).commit()
    expect([item.snapshot_id for item in catalog.load_table((root, "flights")).metadata.statistics], [at])
    table.update_statistics().remove_statistics(at).commit()
    return expect(catalog.load_table((root, "flights")).metadata.statistics, [])


@step("inspection of the metadata")
def _():
    table = catalog.load_table((root, "flights"))
    inspected = ("snapshots", "entries", "refs", "partitions", "manifests", "metadata_log_entries", "history", "files")
    sizes = {name: getattr(table.inspect, name)().num_rows for name in inspected}
    expect((sizes["refs"], sizes["snapshots"]), (1, len(table.snapshots())))
    expect(table.inspect.metadata_log_entries()["file"].to_pylist()[-1], table.metadata_location)
    return sizes


# Writers at the same time


@step("two writers append: both arrive")
def _():
    catalog.create_table((root, "race"), schema=flights_type)
    one, two = (catalog.load_table((root, "race")) for _ in range(2))
    one.append(rows(1))
    two.append(rows(2))
    expect(count((root, "race")), 2)
    return expect(len(catalog.load_table((root, "race")).snapshots()), 2)


@step("two writers change the schema: the second is refused, and nothing of it stays")
def _():
    one, two = (catalog.load_table((root, "race")) for _ in range(2))
    with one.update_schema() as update:
        update.add_column("one", StringType())
    late = two.update_schema().add_column("two", StringType())
    said = refused(CommitFailedException, late.commit)
    expect(catalog.load_table((root, "race")).schema().column_names, ["origin", "delay", "one"])
    return said


@step("two writers change the partitions: the second is refused")
def _():
    one, two = (catalog.load_table((root, "race")) for _ in range(2))
    one.update_spec().add_identity("origin").commit()
    said = refused(CommitFailedException, two.update_spec().add_field("delay", BucketTransform(2), "b").commit)
    expect([field.name for field in catalog.load_table((root, "race")).spec().fields], ["origin"])
    return said


@step("two writers set properties: both arrive")
def _():
    one, two = (catalog.load_table((root, "race")) for _ in range(2))
    with one.transaction() as transaction:
        transaction.set_properties(one="1")
    with two.transaction() as transaction:
        transaction.set_properties(two="2")
    found = catalog.load_table((root, "race")).properties
    return expect((found["one"], found["two"]), ("1", "2"))


@step("a commit to a table that was dropped and created again: refused")
def _():
    stale = catalog.create_table((root, "twice"), schema=flights_type)
    catalog.drop_table((root, "twice"))
    catalog.create_table((root, "twice"), schema=flights_type)
    transaction = stale.transaction()
    transaction.set_properties(stale="yes")
    said = refused((CommitFailedException, NoSuchTableError), transaction.commit_transaction)
    expect("stale" in catalog.load_table((root, "twice")).properties, False)
    return said


@step("a commit to a table that was dropped: refused")
def _():
    stale = catalog.load_table((root, "twice"))
    catalog.drop_table((root, "twice"))
    transaction = stale.transaction()
    transaction.set_properties(stale="yes")
    return refused(Exception, transaction.commit_transaction, "does not exist")


# Lists, names, register, drop


@step("list tables, also in pages")
def _():
    names = [(root, "deep", "er", f"t{at:02}") for at in range(8)]
    for name in names:
        catalog.create_table(name, schema=flights_type)
    expect(sorted(catalog.list_tables((root, "deep", "er"))), names)
    expect(sorted(paged.list_tables((root, "deep", "er"))), names)
    expect(catalog.list_tables((root, "deep")), [])
    return refused(NoSuchNamespaceError, lambda: catalog.list_tables(f"missing_{run}"))


@step("tables with other characters in their names")
def _():
    names = ["with space", "ünïcödé ☃", "emoji 🦭", "plus+percent%25", "quote'\"", "a-b_c", "question?#&="]
    catalog.create_namespace((root, "table names ☃"))
    for name in names:
        table = catalog.create_table((root, "table names ☃", name), schema=flights_type)
        table.append(rows(1))
        expect(count((root, "table names ☃", name)), 1)
    found = sorted(name[-1] for name in catalog.list_tables((root, "table names ☃")))
    expect(found, sorted(names))
    for name in names:
        catalog.drop_table((root, "table names ☃", name))
    expect(catalog.list_tables((root, "table names ☃")), [])
    catalog.drop_namespace((root, "table names ☃"))


@step("rename, within a namespace and into another")
def _():
    catalog.rename_table((root, "own"), (root, "own2"))
    expect(catalog.table_exists((root, "own")), False)
    table = catalog.rename_table((root, "own2"), (root, "deep", "moved"))
    expect(table.scan().to_arrow().num_rows, 1)
    table.append(rows(2))
    return expect(count((root, "deep", "moved")), 2)


@step("rename to a name that is taken, or into a missing namespace, or of a missing table: refused")
def _():
    refused(TableAlreadyExistsError, lambda: catalog.rename_table((root, "flights"), (root, "types")))
    refused(Exception, lambda: catalog.rename_table((root, "flights"), (f"missing_{run}", "t")), "Namespace")
    return refused(NoSuchTableError, lambda: catalog.rename_table((root, "missing"), (root, "t")))


@step("register a table again with its metadata")
def _():
    table = catalog.load_table((root, "deep", "moved"))
    at = table.metadata_location
    catalog.drop_table((root, "deep", "moved"))
    found = catalog.register_table((root, "registered"), at)
    expect((found.metadata_location, found.metadata.table_uuid), (at, table.metadata.table_uuid))
    found.append(rows(3))
    return expect(count((root, "registered")), 3)


@step("register under a name that is taken: refused")
def _():
    at = catalog.load_table((root, "registered")).metadata_location
    return refused(TableAlreadyExistsError, lambda: catalog.register_table((root, "flights"), at))


@step("register a file that is not there, or is no metadata: refused")
def _():
    missing = f"file://{warehouse}/nothing_{run}/metadata/00000-x.metadata.json"
    said = refused(Exception, lambda: catalog.register_table((root, "nothing"), missing))
    expect(catalog.table_exists((root, "nothing")), False)
    return said


@step("drop keeps the files, a missing table is refused")
def _():
    table = catalog.load_table((root, "registered"))
    catalog.drop_table((root, "registered"))
    expect(catalog.table_exists((root, "registered")), False)
    expect(table.io.new_input(table.metadata_location).exists(), True)
    refused(NoSuchTableError, lambda: catalog.drop_table((root, "registered")))
    return refused(NoSuchTableError, lambda: catalog.load_table((root, "registered")))


@step("purge")
def _():
    catalog.purge_table((root, "staged"))
    expect(catalog.table_exists((root, "staged")), False)
    return refused(NoSuchTableError, lambda: catalog.purge_table((root, "staged")))


# Views

view_schema = Schema(NestedField(1, "origin", StringType()), NestedField(2, "n", LongType()))


def view_version(sql, namespace=(root,)):
    said = ViewRepresentation(SQLViewRepresentation(type="sql", sql=sql, dialect="spark"))
    return ViewVersion(version_id=1, schema_id=0, summary={"engine": "flow"}, representations=[said], default_namespace=namespace)


@step("views: create, load, list, exists")
def _():
    expect(catalog.view_exists((root, "counts")), False)
    expect(catalog.list_views(root), [])
    sql = "select origin, count(*) n from flights group by 1"
    view = catalog.create_view((root, "counts"), view_schema, view_version(sql), properties={"comment": "☃"})
    expect(view.sql_for("spark").sql, sql)
    found = catalog.load_view((root, "counts"))
    expect((found.uuid(), found.properties["comment"]), (view.uuid(), "☃"))
    expect([field.name for field in found.schema().fields], ["origin", "n"])
    expect([entry.version_id for entry in found.history()], [1])
    expect(catalog.list_views(root), [(root, "counts")])
    expect((root, "counts") in catalog.list_tables(root), False)
    return expect(catalog.view_exists((root, "counts")), True)


@step("views: a name that a view or a table has: refused")
def _():
    refused(ViewAlreadyExistsError, lambda: catalog.create_view((root, "counts"), view_schema, view_version("select 1")))
    refused(Exception, lambda: catalog.create_view((root, "flights"), view_schema, view_version("select 1")), "exists")
    refused(Exception, lambda: catalog.create_table((root, "counts"), schema=flights_type), "exists")
    refused(NoSuchTableError, lambda: catalog.load_table((root, "counts")))
    return refused(NoSuchViewError, lambda: catalog.load_view((root, "flights")))


@step("views: in a missing namespace: refused")
def _():
    return refused(Exception, lambda: catalog.create_view((f"missing_{run}", "v"), view_schema, view_version("select 1")), "Namespace")


@step("views: list in pages")
def _():
    names = [(root, "pages", f"v{at:02}") for at in range(7)]
    for name in names:
        catalog.create_view(name, view_schema, view_version("select 1", (root, "pages")))
    expect(sorted(paged.list_views((root, "pages"))), names)
    for name in names:
        catalog.drop_view(name)
    return expect(catalog.list_views((root, "pages")), [])


@step("views: drop, and a missing one")
def _():
    catalog.drop_view((root, "counts"))
    expect(catalog.view_exists((root, "counts")), False)
    refused(NoSuchViewError, lambda: catalog.drop_view((root, "counts")))
    return refused(NoSuchViewError, lambda: catalog.load_view((root, "counts")))


# What the client does not send by itself


def post(path, body):
    from requests import post as send

    answer = send(f"{url}/v1/{path}", json=body)
    return answer.status_code, answer.json() if answer.text else None


def path_of(*names):
    return "%1F".join(urllib.parse.quote(name, safe="") for name in names)


@step("an unknown update is refused and changes nothing")
def _():
    before = catalog.load_table((root, "flights")).metadata_location
    updates = [{"action": "set-properties", "updates": {"half": "yes"}}, {"action": "no-such-update"}]
    code, answer = post(f"namespaces/{path_of(root)}/tables/flights", {"requirements": [], "updates": updates})
    expect(code, 400)
    expect(sorted(answer["error"])[:2], ["code", "message"])
    return expect(catalog.load_table((root, "flights")).metadata_location, before)


@step("a transaction over two tables, one of which fails: neither changes")
def _():
    changes = [
        {
            "identifier": {"namespace": [root], "name": name},
            "requirements": [{"type": "assert-table-uuid", "uuid": expected}],
            "updates": [{"action": "set-properties", "updates": {"tx": "yes"}}],
        }
        for name, expected in (
            ("flights", str(catalog.load_table((root, "flights")).metadata.table_uuid)),
            ("race", str(uuid.uuid4())),
        )
    ]
    code, answer = post("transactions/commit", {"table-changes": changes})
    expect(code, 409)
    expect("tx" in catalog.load_table((root, "flights")).properties, False)
    changes[1]["requirements"] = []
    code, _ = post("transactions/commit", {"table-changes": changes})
    expect(code, 204)
    expect([catalog.load_table((root, name)).properties["tx"] for name in ("flights", "race")], ["yes", "yes"])
    return json.dumps(answer)


@step("the rest is dropped, and so the namespaces")
def _():
    for namespace in [*catalog.list_namespaces((root, "names")), *catalog.list_namespaces((root, "pages"))]:
        catalog.drop_namespace(namespace)
    for namespace in ((root, "names"), (root, "pages"), (root, "deep", "er"), (root, "deep"), (root,)):
        for name in catalog.list_tables(namespace):
            catalog.drop_table(name)
        catalog.drop_namespace(namespace)
    return expect(catalog.namespace_exists(root), False)


end()
