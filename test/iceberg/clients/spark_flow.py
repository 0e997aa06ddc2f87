"""Spark against a server: spark_flow.py URL WAREHOUSE JAR, where the jar is Iceberg's runtime for Spark."""

import sys
import uuid

from pyspark.sql import SparkSession

from steps import end, expect, refused, step

url, warehouse, jar = sys.argv[1:4]
space = f"sp_{uuid.uuid4().hex[:8]}"
settings = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.jars": jar,
    "spark.sql.warehouse.dir": f"{warehouse}/of-spark",
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.t": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.t.type": "rest",
    "spark.sql.catalog.t.uri": url,
    # Another client of the same server, which keeps nothing that it has read.
    "spark.sql.catalog.fresh": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.fresh.type": "rest",
    "spark.sql.catalog.fresh.uri": url,
    "spark.sql.catalog.fresh.cache-enabled": "false",
}
builder = SparkSession.builder.master("local[1]")
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")


def do(sql):
    return [tuple(row) for row in spark.sql(sql.replace(".s.", f".{space}.")).collect()]


def says(sql, wanted=None, name=None):
    """A step of one statement, with the rows it must return."""

    @step(name or sql)
    def _():
        found = do(sql)
        if wanted is not None:
            expect(found, wanted)
        return found[:4]


# Namespaces
says(f"create namespace t.{space} with dbproperties ('a' = 'b')", name="create namespace")
says(f"alter namespace t.{space} set properties ('c' = 'd')", name="alter namespace")
says(f"create namespace t.{space}.deep", name="create a nested namespace")
says(f"show namespaces in t.{space}", [(f"{space}.deep",)], name="show namespaces")


@step("describe namespace")
def _():
    return expect("(a,b)" in str(do(f"describe namespace extended t.{space}")), True)


@step("a missing namespace, and one that is there: refused")
def _():
    refused("Namespace", lambda: do(f"create table t.missing_{space}.x (i int) using iceberg"))
    return refused("exist", lambda: do(f"create namespace t.{space}"))


# The statements of a first acquaintance
says("create table t.s.a (id bigint, v string) using iceberg")
says("insert into t.s.a values (1, 'x'), (2, 'y')")
says(
    "merge into t.s.a d using (select 2 as id, 'z' as v union all select 3, 'n') n on d.id = n.id "
    "when matched then update set v = n.v when not matched then insert *"
)
says("select * from t.s.a order by id", [(1, "x"), (2, "z"), (3, "n")])
says("alter table t.s.a add column w int")
says("alter table t.s.a set tblproperties ('k' = 'v')")
says("delete from t.s.a where id = 1")
says("select count(*) from fresh.s.a", [(2,)])
says("select count(*) from t.s.a.snapshots", [(3,)])
says("create table t.s.b using iceberg partitioned by (bucket(2, id)) as select * from t.s.a")
says("alter table t.s.b create branch dev")
says("insert into t.s.b.branch_dev values (9, 'q', 1)")
says("select count(*) from fresh.s.b", [(2,)])
says("select count(*) from fresh.s.b.branch_dev", [(3,)])
# A new name has no catalog: Spark takes one for a namespace.
says(f"alter table t.s.a rename to {space}.c", name="alter table t.s.a rename to s.c")


@step("show tables")
def _():
    return expect(sorted(row[1] for row in do(f"show tables in t.{space}")), ["b", "c"])


@step("rewrite_data_files")
def _():
    return do(f"call t.system.rewrite_data_files('{space}.b')")


@step("expire_snapshots")
def _():
    do(f"call t.system.expire_snapshots('{space}.c', TIMESTAMP '2030-01-01 00:00:00', 1)")
    return expect(do("select count(*) from fresh.s.c.snapshots"), [(1,)])


# Updates and rewrites
says("update t.s.c set w = 7 where id = 2")
says("select w from fresh.s.c where id = 2", [(7,)])
says("insert overwrite t.s.c select 5L, 'five', 5")
says("select * from fresh.s.c", [(5, "five", 5)])
says("create or replace table t.s.c using iceberg as select 6L as id, 'six' as v")
says("select * from fresh.s.c", [(6, "six")], name="what replaced it")
says("replace table t.s.c using iceberg partitioned by (v) as select 7L as id, 'seven' as v")
says("select * from fresh.s.c where v = 'seven'", [(7, "seven")])
says("create table if not exists t.s.c (x int) using iceberg")


@step("a table that is there, or is not: refused")
def _():
    refused("already exists", lambda: do("create table t.s.c (x int) using iceberg"))
    refused("TABLE_OR_VIEW_NOT_FOUND", lambda: do("select * from t.s.missing"))
    return refused("NOT_FOUND", lambda: do("drop table t.s.missing"))


# Merge on read, format version 3, all types
says(
    "create table t.s.m (id bigint, v string) using iceberg tblproperties "
    "('format-version' = '2', 'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')"
)
says("insert into t.s.m select id, 'v' || id from range(100)")
says("delete from t.s.m where id % 3 = 0")
says("update t.s.m set v = 'even' where id % 2 = 0")
says("select count(*), sum(case v when 'even' then 1 else 0 end) from fresh.s.m", [(66, 33)])
says("create table t.s.v3 (id bigint, v string) using iceberg tblproperties ('format-version' = '3', 'write.delete.mode' = 'merge-on-read')")
says("insert into t.s.v3 values (1, 'a'), (2, 'b')")
says("insert into t.s.v3 values (3, 'c')")
says("delete from t.s.v3 where id = 2")
says("select id, v, _row_id, _last_updated_sequence_number from fresh.s.v3 order by id", [(1, "a", 0, 1), (3, "c", 2, 2)])
says("alter table t.s.m set tblproperties ('format-version' = '3')")
says("insert into t.s.m values (1000, 'now 3')")
says("select count(*) from fresh.s.m", [(67,)], name="rows after the upgrade")
says(
    "create table t.s.types (b boolean, i int, l bigint, f float, d double, dec decimal(38, 10), dt date, ts timestamp, "
    "tn timestamp_ntz, s string, bin binary, arr array<struct<x: int>>, m map<string, array<int>>, "
    "st struct<x: int, y: struct<z: string>>) using iceberg"
)
says(
    "insert into t.s.types values (true, 1, -9223372036854775808L, float('1.5'), 2.5d, 1234567890.0123456789, date '1969-12-31', "
    "timestamp '2024-02-29 12:00:00', timestamp_ntz '2024-02-29 12:00:00', '☃', X'00ff', array(named_struct('x', 1)), "
    "map('k', array(1, 2)), named_struct('x', 1, 'y', named_struct('z', 'deep')))"
)
says("select l, cast(dec as string), s, m['k'][1], st.y.z, arr[0].x from fresh.s.types",
    [(-(2**63), "1234567890.0123456789", "☃", 2, "deep", 1)])  # fmt: skip

# Schema, partitions, order
says("alter table t.s.types rename column i to j")
says("alter table t.s.types alter column j type bigint")
says("alter table t.s.types alter column j comment 'a comment'")
says("alter table t.s.types alter column s first")
says("alter table t.s.types add column st.y.added int after z")
says("alter table t.s.types drop column bin")
says("alter table t.s.types add columns (one int, two int)")
says("alter table t.s.types unset tblproperties ('none')")
says("alter table t.s.types add partition field days(ts)")
says("alter table t.s.types add partition field bucket(4, l) as shard")
says("alter table t.s.types replace partition field shard with truncate(10, s) as cut")
says("alter table t.s.types drop partition field days(ts)")
says("alter table t.s.types write ordered by l desc nulls last")
says("alter table t.s.types write unordered")


@step("what the schema and the partitions are now")
def _():
    columns = [row[0] for row in do("describe fresh.s.types")]
    expect(columns[:3], ["s", "b", "j"])
    return expect("truncate(10, s)" in str(do("describe fresh.s.types")), True)


@step("identifier fields")
def _():
    do("create table t.s.keyed (k bigint not null, v string) using iceberg")
    do("alter table t.s.keyed set identifier fields k")
    do("alter table t.s.keyed drop identifier fields k")


# Branches, tags, time travel
says("alter table t.s.v3 create tag one retain 365 days")
says("alter table t.s.v3 create branch side retain 7 days with snapshot retention 2 snapshots 3 days")
says("insert into t.s.v3.branch_side values (4, 'side')")
says("select count(*) from fresh.s.v3 version as of 'one'", [(2,)])
says("select count(*) from fresh.s.v3 version as of 'side'", [(3,)])
says("select name, type from fresh.s.v3.refs order by name", [("main", "BRANCH"), ("one", "TAG"), ("side", "BRANCH")])


@step("fast forward")
def _():
    do(f"call t.system.fast_forward('{space}.v3', 'main', 'side')")
    return expect(do("select count(*) from fresh.s.v3"), [(3,)])


says("alter table t.s.v3 drop branch side")
says("alter table t.s.v3 drop tag one")


@step("roll back to a snapshot, cherry-pick, set the current one")
def _():
    ids = [row[0] for row in do("select snapshot_id from fresh.s.v3.snapshots order by committed_at")]
    do(f"call t.system.rollback_to_snapshot('{space}.v3', {ids[0]})")
    expect(do("select count(*) from fresh.s.v3"), [(2,)])
    do(f"call t.system.set_current_snapshot('{space}.v3', {ids[-1]})")
    expect(do("select count(*) from fresh.s.v3"), [(3,)])
    return expect(do(f"select count(*) from fresh.s.v3 version as of {ids[1]}"), [(3,)])


@step("tables of metadata")
def _():
    names = ("history", "metadata_log_entries", "snapshots", "entries", "files", "manifests", "partitions", "all_data_files", "refs")
    return {name: do(f"select count(*) from fresh.s.v3.{name}")[0][0] for name in names}


@step("rewrite_manifests, remove_orphan_files, rewrite_position_delete_files")
def _():
    do(f"call t.system.rewrite_manifests('{space}.m')")
    do(f"call t.system.rewrite_position_delete_files('{space}.m')")
    do(f"call t.system.remove_orphan_files(table => '{space}.m', dry_run => true)")
    return expect(do("select count(*) from fresh.s.m"), [(67,)])


@step("statistics of a table")
def _():
    return do(f"call t.system.compute_table_stats('{space}.m')")


@step("publish what was written for audit")
def _():
    do("alter table t.s.m set tblproperties ('write.wap.enabled' = 'true')")
    spark.conf.set("spark.wap.id", "audit-1")
    do("insert into t.s.m values (2000, 'wap')")
    spark.conf.unset("spark.wap.id")
    expect(do("select count(*) from fresh.s.m"), [(67,)])
    do(f"call t.system.publish_changes('{space}.m', 'audit-1')")
    return expect(do("select count(*) from fresh.s.m"), [(68,)])


@step("register a table")
def _():
    (at,) = do("select file from fresh.s.types.metadata_log_entries order by timestamp desc limit 1")[0]
    do("drop table t.s.types")
    do(f"call t.system.register_table('{space}.again', '{at}')")
    return expect(do("select count(*) from fresh.s.again"), [(1,)])


# Views
says("create view t.s.v as select id, v from t.s.c")
says("select * from fresh.s.v", [(7, "seven")])
says("create or replace view t.s.v (n comment 'renamed') comment 'of one column' tblproperties ('a' = 'b') as select id from t.s.c")
says("select n from fresh.s.v", [(7,)])
says("alter view t.s.v set tblproperties ('k' = 'v')")
says("alter view t.s.v unset tblproperties ('a')")


@step("show and describe views")
def _():
    expect([row[1] for row in do(f"show views in t.{space}")], ["v"])
    expect(sorted(row[0] for row in do("show tblproperties t.s.v") if row[0] in ("k", "a")), ["k"])
    return expect([row[0] for row in do("describe t.s.v")], ["n"])


says("create view if not exists t.s.v as select 1 as one")


@step("views: a name that is taken, and one that is not there: refused")
def _():
    refused("already exists", lambda: do("create view t.s.v as select 1 as one"))
    refused("already exists", lambda: do("create view t.s.c as select 1 as one"))
    return refused("NOT_FOUND", lambda: do("drop view t.s.missing"))


says("alter view t.s.v rename to t.s.w")  # Here it may have one.
says("select n from fresh.s.w", [(7,)])
says("drop view t.s.w")
says("drop view if exists t.s.w")

# The end
says("drop table t.s.c")
says("drop table t.s.b purge")


@step("drop namespaces: one that is not empty is refused")
def _():
    said = refused("not empty", lambda: do(f"drop namespace t.{space}"))
    for row in do(f"show tables in t.{space}"):
        do(f"drop table t.{space}.`{row[1]}`")
    do(f"drop namespace t.{space}.deep")
    do(f"drop namespace t.{space}")
    expect([row for row in do("show namespaces in fresh") if row[0] == space], [])
    return said


spark.stop()
end()
