"""LanceDB's own client against the fake."""

import asyncio

import lancedb
import pyarrow as pa
import pytest
from tabularium_testing import TabulariumError

FLIGHTS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int32()),
        "at": pa.array([0, 1, None], pa.timestamp("us", "UTC")),
        "vector": pa.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], pa.list_(pa.float32(), 2)),
    }
)


def test_a_seeded_table_has_the_types_it_was_given(tabularium):
    tabularium.seed({"flights": FLIGHTS})
    table = tabularium.lancedb().open_table("flights")
    assert table.schema.equals(FLIGHTS.schema)
    assert table.search([1.0, 0.1]).limit(1).to_list()[0]["id"] == 2
    assert [call.operation for call in tabularium.calls_of("queryTable")] == ["queryTable"]


def test_the_client_changes_what_the_next_one_sees(tabularium):
    db = tabularium.lancedb()
    db.create_table("flights", FLIGHTS)
    db.open_table("flights").delete("id = 2")
    assert tabularium.lancedb().open_table("flights").count_rows() == 2
    assert tabularium.ask("POST", "/v1/table/flights/count_rows", {"predicate": "id > 1"}) == (200, 1)


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_begins_with_nothing(tabularium, turn):
    assert list(tabularium.lancedb().list_tables().tables) == []
    assert tabularium.clock.now().isoformat() == "2026-01-01T00:00:00+00:00"
    tabularium.seed({"flights": FLIGHTS})
    tabularium.clock.advance(60_000)
    tabularium.fail("countTableRows")


def test_the_asynchronous_client(tabularium):
    tabularium.seed({"flights": FLIGHTS})

    async def count():
        db = await tabularium.lancedb_async()
        return await (await db.open_table("flights")).count_rows()

    assert asyncio.run(count()) == 3


def test_rows_are_merged_by_several_columns(tabularium):
    rows = pa.table({"day": [1, 1], "number": [7, 8], "delay": [0, 0]})
    table = tabularium.lancedb().create_table("flights", rows)
    late = pa.table({"day": [1, 2], "number": [8, 8], "delay": [30, 40]})
    merge = table.merge_insert(["day", "number"]).when_matched_update_all().when_not_matched_insert_all()
    merged = merge.execute(late)
    assert (merged.num_updated_rows, merged.num_inserted_rows) == (1, 1)
    assert [row["delay"] for row in table.search().limit(9).to_list()] == [0, 30, 40]


def test_a_branch_that_exists_is_told_once(tabularium):
    tabularium.seed({"flights": FLIGHTS})
    branches = tabularium.lancedb().open_table("flights").branches
    branches.create("dev")
    with pytest.raises(ValueError, match=r"flights \(branch: dev\)' already exists"):
        branches.create("dev")
    assert len(tabularium.calls_of("createTableBranch")) == 2


def test_the_client_tries_again_when_the_catalog_is_busy(tabularium):
    tabularium.seed({"flights": FLIGHTS})
    busy = tabularium.fail("countTableRows", "ServiceUnavailable", table="flights", times=1)
    assert tabularium.lancedb().open_table("flights").count_rows() == 3
    assert (busy.seen, busy.fired) == (2, 1)
    assert [call.outcome for call in tabularium.calls_of("countTableRows")] == ["failed", "succeeded"]
    assert tabularium.calls_of("countTableRows")[0].error["code"] == "ServiceUnavailable"


def test_a_refusal_reaches_the_code_under_test(tabularium):
    tabularium.seed({"flights": FLIGHTS})
    tabularium.fail("insertIntoTable", "PermissionDenied", message="nobody writes today")
    with pytest.raises(Exception, match="nobody writes today"):
        tabularium.lancedb().open_table("flights").add(FLIGHTS)
    tabularium.clear_faults()
    assert tabularium.faults == []
    tabularium.lancedb().open_table("flights").add(FLIGHTS)


def test_another_key_is_refused(tabularium):
    with pytest.raises(Exception):
        list(tabularium.lancedb(api_key="another").list_tables().tables)
    assert tabularium.calls == []


def test_a_missing_client_is_told_of(tabularium, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lancedb", None)
    with pytest.raises(TabulariumError, match="pip install lancedb"):
        tabularium.lancedb()
    assert lancedb is not None
