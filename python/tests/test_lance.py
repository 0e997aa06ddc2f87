"""Lance's own writers and readers, which keep their versions through the fake."""

import lance
import lance_namespace
import lancedb
import pyarrow as pa
import pytest

FLIGHTS = pa.table({"id": [1, 2, 3]})


def test_lance_writes_and_reads_tables(tabularium):
    tabularium.seed({"prod": {}})
    lance.write_dataset(FLIGHTS, mode="create", **tabularium.lance("prod$flights"))
    lance.write_dataset(FLIGHTS, mode="append", **tabularium.lance(["prod", "flights"]))
    found = lance.dataset(**tabularium.lance("prod$flights"))
    assert (found.version, found.count_rows()) == (2, 6)
    assert [call.outcome for call in tabularium.calls_of("createTableVersion")] == ["succeeded"] * 2


@pytest.mark.parametrize("turn", [1, 2])
def test_what_lance_wrote_is_gone_in_the_next_test(tabularium, turn):
    dataset = lance.write_dataset(FLIGHTS, mode="create", **tabularium.lance("flights"))
    assert dataset.version == 1


def test_a_declared_table_is_written_later(tabularium):
    tabularium.seed({"inbox": []})
    lance.write_dataset(FLIGHTS, mode="append", **tabularium.lance("inbox"))
    assert lance.dataset(**tabularium.lance("inbox")).count_rows() == 3


def test_a_commit_that_fails_is_not_there(tabularium):
    lance.write_dataset(FLIGHTS, mode="create", **tabularium.lance("flights"))
    fault = tabularium.fail("createTableVersion", "ConcurrentModification")
    with pytest.raises(OSError):
        lance.write_dataset(FLIGHTS, mode="append", **tabularium.lance("flights"))
    assert fault.fired > 0
    fault.remove()
    assert lance.dataset(**tabularium.lance("flights")).count_rows() == 3


def test_the_client_of_namespaces(tabularium):
    tabularium.seed({"prod": {"flights": FLIGHTS}})
    found = tabularium.namespace().list_tables(lance_namespace.ListTablesRequest(id=["prod"]))
    assert found.tables == ["flights"]


def test_lancedb_writes_lance_tables_by_the_namespace(tabularium):
    told = {"uri": tabularium.url, **{f"header.{name}": value for name, value in tabularium.headers.items()}}
    lancedb.connect_namespace("rest", told).create_table("flights", FLIGHTS)
    assert lance.dataset(**tabularium.lance("flights")).count_rows() == 3
