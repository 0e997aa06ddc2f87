import sys
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from tabularium_testing import TabulariumError


def count(tabularium, table, predicate=None):
    status, answer = tabularium.ask("POST", f"/v1/table/{table}/count_rows", {"predicate": predicate})
    assert status == 200, answer
    return answer


def test_rows_and_what_is_said_of_them(tabularium):
    rows = pa.table({"id": [1, 2]})
    tabularium.seed(
        {
            "prod": {
                "$properties": {"owner": "ops"},
                "orders": {
                    "$rows": rows,
                    "$changes": [{"insert": rows}, {"insert": [{"id": 3}]}, {"delete": "id = 1"}],
                    "$tags": {"audited": 2},
                },
                "inbox": [],
            }
        }
    )
    assert count(tabularium, "prod$orders") == 3
    told = tabularium.ask("POST", "/v1/table/prod$orders/tags/version", {"tag": "audited"})
    assert (told[0], told[1]["version"]) == (200, 2)
    assert tabularium.ask("POST", "/v1/namespace/prod/describe", {})[1]["properties"] == {"owner": "ops"}
    assert tabularium.ask("POST", "/v1/table/prod$inbox/describe", {})[0] == 200
    assert [call.operation for call in tabularium.calls if call.operation == "createTable"] == []


def test_plain_rows_have_the_types_of_pyarrow(tabularium):
    day = datetime(2026, 6, 1, tzinfo=timezone.utc)
    tabularium.seed({"t": [{"a": 2**60, "b": b"x"}, {"a": None, "c": day}]})
    schema = tabularium.lancedb().open_table("t").schema
    assert [str(field.type) for field in schema] == ["int64", "binary", "timestamp[us, tz=UTC]"]
    assert count(tabularium, "t", f"a = {2**60}") == 1


def test_a_batch_is_a_table(tabularium):
    tabularium.seed({"t": pa.record_batch({"a": [1, 2]}), "u": _ipc(pa.table({"a": [1]}))})
    assert (count(tabularium, "t"), count(tabularium, "u")) == (2, 1)


def _ipc(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_without_pyarrow_rows_are_json(tabularium, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    tabularium.seed({"t": [{"a": 1}]})
    monkeypatch.undo()
    assert str(tabularium.lancedb().open_table("t").schema.field("a").type) == "double"


@pytest.mark.parametrize(
    "seed, message",
    [
        ([], "seed is of type list"),
        ({"a": 5}, r"seed\.a is of type int"),
        ({"a": {"b": [1]}}, r"seed\.a\.b is of type list"),
        ({1: []}, "seed has the name 1"),
        ({"a": [{"x": 1}, {"x": "y"}]}, r"seed\.a has values that fit in no column"),
        ({"a": {"$rows": [{"x": 1}], "$tags": {"t": 7}}}, "has no version 7"),
        ({"a": {"$arrow": "no base 64"}}, "must be Arrow IPC in base64"),
    ],
)
def test_what_cannot_be_is_refused(tabularium, seed, message):
    with pytest.raises(TabulariumError, match=message):
        tabularium.seed(seed)


def test_faults_take_what_the_fake_takes(tabularium):
    tabularium.seed({"prod": {"t": [{"a": 1}, {"a": 2}]}})
    tabularium.fault("deleteFromTable", running={"clock": 1_000})
    _, answer = tabularium.ask("POST", "/v1/table/prod$t/delete", {"predicate": "a = 1"})
    assert count(tabularium, "prod$t") == 2
    tabularium.clock.advance(timedelta(seconds=1))
    assert count(tabularium, "prod$t") == 1
    path = f"/v1/transaction/{answer['transaction_id']}/describe"
    assert tabularium.ask("POST", path, {})[1]["status"] == "Succeeded"
    with pytest.raises(TabulariumError, match="fail must be an error code"):
        tabularium.fail("deleteFromTable", "Faultless")
    with pytest.raises(TabulariumError, match="nthh"):
        tabularium.fail("deleteFromTable", nthh=1)
    tabularium.clock.set(datetime(2030, 1, 1, tzinfo=timezone.utc))
    assert tabularium.clock.now().year == 2030
    with pytest.raises(TabulariumError, match="zone"):
        tabularium.clock.set(datetime(2030, 1, 1))
    assert [call.n for call in tabularium.calls] == [1, 2, 3, 4]
    tabularium.clear_calls()
    assert tabularium.calls == []
