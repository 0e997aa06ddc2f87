"""DuckDB against a server: duckdb_flow.py URL WAREHOUSE."""

import glob
import importlib
import json
import os
import sys
import threading
import uuid

import duckdb

from steps import end, expect, refused, step

url, warehouse = sys.argv[1:3]
run = uuid.uuid4().hex[:8]
main = f"duck_{run}"


def connect():
    """Another client: what one has read, it keeps for a while."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "httpfs", "iceberg"):
        folder = os.path.dirname(importlib.import_module(f"duckdb_extension_{name}").__file__)
        (file,) = glob.glob(f"{folder}/**/*.duckdb_extension", recursive=True)
        connection.execute(f"LOAD '{file}'")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"ATTACH 'wh' AS ice (TYPE ICEBERG, ENDPOINT '{url}', AUTHORIZATION_TYPE 'none')")
    return connection


con = connect()


def do(sql, on=None):
    return (on or con).execute(sql.replace("ice.s.", f"ice.{main}.")).fetchall()


def seen(sql):
    """What a client that has read nothing yet finds."""
    fresh = connect()
    try:
        return do(sql, fresh)
    finally:
        fresh.close()


def counts(*names):
    return seen("select " + ", ".join(f"(select count(*) from ice.s.{name})" for name in names))[0]


def clean(connection):
    try:
        connection.execute("rollback")
    except duckdb.Error:
        pass


@step("create schema, again, if not exists")
def _():
    do(f"create schema ice.{main}")
    do(f"create schema if not exists ice.{main}")
    return refused("already exists", lambda: do(f"create schema ice.{main}"))


@step("create table, again, if not exists")
def _():
    do("create table ice.s.plain (x bigint, s varchar)")
    do("create table if not exists ice.s.plain (y int)")
    refused("already exists", lambda: do("create table ice.s.plain (y int)"))
    return expect(counts("plain"), (0,))


@step("create table as select")
def _():
    do("create table ice.s.a as select range as x, 'row ' || range as s from range(10)")
    return expect(counts("a"), (10,))


@step("insert")
def _():
    do("insert into ice.s.a values (100, 'hundred'), (101, null)")
    return expect(seen("select count(*), sum(x), count(s) from ice.s.a"), [(12, 246, 11)])


@step("insert from a select of another table")
def _():
    do("insert into ice.s.plain select x, s from ice.s.a where x < 3")
    return expect(counts("plain"), (3,))


@step("delete")
def _():
    do("delete from ice.s.a where x < 2")
    return expect(counts("a"), (10,))


@step("delete of nothing, and of all")
def _():
    do("delete from ice.s.plain where x = 77")
    expect(counts("plain"), (3,))
    do("delete from ice.s.plain")
    return expect(counts("plain"), (0,))


@step("update")
def _():
    do("update ice.s.a set s = 'updated' where x in (3, 4)")
    return expect(seen("select count(*), count(*) filter (s = 'updated') from ice.s.a"), [(10, 2)])


@step("merge")
def _():
    do(
        "merge into ice.s.a using (select 100 as x, 'merged' as s union all select 200, 'new') n on a.x = n.x "
        "when matched then update set s = n.s when not matched then insert values (n.x, n.s)"
    )
    return expect(seen("select x, s from ice.s.a where x in (100, 200) order by x"), [(100, "merged"), (200, "new")])


@step("all types")
def _():
    do(
        "create table ice.s.types (b boolean, i int, l bigint, f float, d double, dec decimal(18,3), da date, t time, "
        "ts timestamp, tz timestamptz, s varchar, u uuid, bl blob, li int[], st struct(x int, y varchar), "
        "m map(varchar, int))"
    )
    do(
        "insert into ice.s.types values (true, 1, -9223372036854775808, 1.5, 2.5, 3.125, '1969-12-31', '23:59:59.999999', "
        "'2024-02-29 12:00:00', '2024-02-29 12:00:00+00', '☃', '11111111-2222-3333-4444-555555555555', '\\xff'::blob, "
        "[1, null], {'x': 1, 'y': 'z'}, map {'k': 1})"
    )
    return expect(seen("select l, dec::varchar, da::varchar, ts::varchar, tz::varchar, s, u::varchar, li, st, m from ice.s.types"), [
        (-(2**63), "3.125", "1969-12-31", "2024-02-29 12:00:00", "2024-02-29 12:00:00+00", "☃")
        + ("11111111-2222-3333-4444-555555555555", [1, None], {"x": 1, "y": "z"}, {"k": 1})
    ])  # fmt: skip


@step("a partitioned table")
def _():
    do("create table ice.s.parts (d date, n int) partitioned by (month(d))")
    do("insert into ice.s.parts values ('2024-01-01', 1), ('2024-02-01', 2), ('2024-02-02', 3)")
    return expect(seen("select count(*), sum(n) from ice.s.parts where d >= '2024-02-01'"), [(2, 5)])


@step("alter table: add, rename, drop a column, and a type")
def _():
    do("create table ice.s.alter_me (n int, s varchar)")
    do("insert into ice.s.alter_me values (1, 'a')")
    do("alter table ice.s.alter_me add column w int")
    do("alter table ice.s.alter_me rename column w to ww")
    do("alter table ice.s.alter_me alter column n type bigint")
    do("alter table ice.s.alter_me drop column s")
    do("insert into ice.s.alter_me values (5000000000, 2)")
    expect(seen("select n, ww from ice.s.alter_me order by n"), [(1, None), (5000000000, 2)])
    return [row[:2] for row in seen("describe ice.s.alter_me")]


@step("alter table: rename")
def _():
    do("alter table ice.s.alter_me rename to altered")
    refused("does not exist", lambda: seen("select * from ice.s.alter_me"))
    return expect(counts("altered"), (2,))


@step("properties of a table")
def _():
    do("create table ice.s.props (n int) with ('k' = 'v')")
    do("call set_iceberg_table_properties(ice.s.props, {'a': 'b', 'c': 'd'})")
    do("call remove_iceberg_table_properties(ice.s.props, ['c'])")
    found = dict(seen("select * from iceberg_table_properties(ice.s.props)"))
    return expect((found.get("k"), found.get("a"), found.get("c")), ("v", "b", None))


@step("properties of a schema")
def _():
    do(f"call set_iceberg_schema_properties('ice.{main}', {{'a': 'b', 'c': 'd'}})")
    do(f"call remove_iceberg_schema_properties('ice.{main}', ['c'])")
    found = dict(seen(f"select * from iceberg_schema_properties('ice.{main}')"))
    return expect((found.get("a"), found.get("c")), ("b", None))


@step("format version 3: create, insert, delete, update")
def _():
    do("create table ice.s.v3 (d date, n int) with ('format-version' = '3')")
    do("insert into ice.s.v3 values ('2024-01-01', 1), ('2024-01-02', 2), ('2024-01-03', 3)")
    do("delete from ice.s.v3 where n = 1")
    do("update ice.s.v3 set n = 20 where n = 2")
    return expect(seen("select count(*), sum(n) from ice.s.v3"), [(2, 23)])


@step("time travel by snapshot and by time")
def _():
    found = seen("select snapshot_id, timestamp_ms from iceberg_snapshots(ice.s.a) order by sequence_number")
    first, at = found[0]
    expect(seen(f"select count(*) from ice.s.a at (version => {first})"), [(10,)])
    expect(seen(f"select count(*) from ice.s.a at (timestamp => timestamp '{at}' + interval 1 millisecond)"), [(10,)])
    return f"{len(found)} snapshots"


@step("inspection: metadata, tables, description")
def _():
    expect(len(seen("select * from iceberg_metadata(ice.s.a)")) > 0, True)
    names = [name for (name,) in seen(f"select table_name from duckdb_tables() where schema_name = '{main}' order by 1")]
    expect(names, ["a", "altered", "parts", "plain", "props", "types", "v3"])
    return expect([row[:2] for row in seen("describe ice.s.a")], [("x", "BIGINT"), ("s", "VARCHAR")])


@step("one transaction over three tables, of which one is created in it")
def _():
    tx = connect()
    do("create table ice.s.b (x bigint)", tx)
    do("begin", tx)
    do("insert into ice.s.a values (1000, 'tx')", tx)
    do("insert into ice.s.b values (1), (2)", tx)
    do("create table ice.s.c as select 7 as y", tx)
    expect(counts("a", "b"), (11, 0))
    do("commit", tx)
    return expect(counts("a", "b", "c"), (12, 2, 1))


@step("several statements on one table in a transaction")
def _():
    tx = connect()
    do("begin", tx)
    do("insert into ice.s.b values (3)", tx)
    do("insert into ice.s.b values (4)", tx)
    do("insert into ice.s.c values (8)", tx)
    do("commit", tx)
    return expect(counts("b", "c"), (4, 2))


@step("rollback leaves nothing")
def _():
    tx = connect()
    do("begin", tx)
    do("insert into ice.s.a values (2000, 'no')", tx)
    do("insert into ice.s.b values (5)", tx)
    do("create table ice.s.never as select 1 as z", tx)
    do("rollback", tx)
    refused("does not exist", lambda: seen("select * from ice.s.never"))
    return expect(counts("a", "b"), (12, 4))


@step("a conflict in one of two tables leaves nothing in part")
def _():
    one, other = connect(), connect()
    do("begin", one)
    do("insert into ice.s.b values (6)", one)
    do("delete from ice.s.a where x = 1000", one)
    do("insert into ice.s.a values (3000, 'other')", other)
    said = refused("commit", lambda: do("commit", one))
    clean(one)
    expect(counts("a", "b"), (13, 4))
    return said


@step("a conflict beside a table created in the transaction")
def _():
    # With a created table, this client sends a commit for each table, so the new one may be there. Others are whole.
    one, other = connect(), connect()
    do("begin", one)
    do("create table ice.s.half as select 1 as z", one)
    do("insert into ice.s.b values (7)", one)
    do("insert into ice.s.b values (8)", other)
    said = refused("commit", lambda: do("commit", one))
    clean(one)
    expect(counts("b"), (5,))
    do("drop table if exists ice.s.half", connect())
    return said


@step("the same name created twice at the same time: one of them is there")
def _():
    one, other = connect(), connect()
    do("begin", one)
    do("create table ice.s.twice as select 1 as z", one)
    do("create table ice.s.twice as select 2 as z", other)
    said = refused("", lambda: do("commit", one))
    clean(one)
    expect(seen("select z from ice.s.twice"), [(2,)])
    return said


@step("three writers of pairs: both tables have what was committed")
def _():
    do("create table ice.s.l (x bigint)")
    do("create table ice.s.r (x bigint)")
    done, failed = [0] * 3, [0] * 3

    def write(at):
        writer = connect()
        for _ in range(15):
            try:
                for sql in ("begin", "insert into ice.s.l values (1)", "insert into ice.s.r values (1)", "commit"):
                    do(sql, writer)
                done[at] += 1
            except duckdb.Error:
                failed[at] += 1
                clean(writer)

    writers = [threading.Thread(target=write, args=(at,)) for at in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    expect(counts("l", "r"), (sum(done), sum(done)))
    expect(sum(done) > 0, True)
    return json.dumps({"committed": sum(done), "refused": sum(failed)})


@step("names with other characters")
def _():
    names = ["With Space", "snowman ☃", "quote'", "a-b_c", "percent%25", "emoji 🦭"]
    for name in names:
        do(f'create table ice.s."{name}" as select 1 as one')
        expect(seen(f'select one from ice.s."{name}"'), [(1,)])
    for name in names:
        do(f'drop table ice.s."{name}"')


@step("reading and writing what is not there: refused")
def _():
    refused("does not exist", lambda: do("select * from ice.s.missing"))
    refused("does not exist", lambda: do("insert into ice.s.missing values (1)"))
    return refused("", lambda: do(f"create table ice.missing_{run}.t (x int)"))


@step("drop table, if exists, and a missing one")
def _():
    do("drop table ice.s.props")
    do("drop table if exists ice.s.props")
    refused("does not exist", lambda: do("drop table ice.s.props"))
    return refused("does not exist", lambda: seen("select * from ice.s.props"))


@step("drop a schema that is not empty: refused")
def _():
    return refused("not empty", lambda: connect().execute(f"drop schema ice.{main}"))


@step("all is dropped, and so the schema")
def _():
    for (name,) in seen(f"select table_name from duckdb_tables() where schema_name = '{main}'"):
        do(f'drop table ice.s."{name}"')
    connect().execute(f"drop schema ice.{main}")
    return refused("", lambda: seen("select * from ice.s.a"))


end()
