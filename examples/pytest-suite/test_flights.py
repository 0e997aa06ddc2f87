import flights
import pytest

MONDAY = [
    {"id": 1, "delay": 75, "vector": [0.0, 1.0]},
    {"id": 2, "delay": 12, "vector": [1.0, 0.0]},
]


def test_late_flights_are_counted(tabularium):
    flights.record(tabularium.lancedb(), MONDAY)
    assert flights.late(tabularium.lancedb()) == 1


def test_a_flight_is_corrected(tabularium):
    db = tabularium.lancedb()
    flights.record(db, MONDAY)
    flights.record(db, [{**MONDAY[0], "delay": 5}])
    assert (flights.late(db), db.open_table("flights").count_rows()) == (0, 2)


def test_the_nearest_flight(tabularium):
    tabularium.seed({"flights": flights.pa.Table.from_pylist(MONDAY, flights.SCHEMA)})
    assert flights.most_like(tabularium.lancedb(), [0.9, 0.1]) == 2


def test_a_busy_catalog_is_asked_again(tabularium):
    flights.record(tabularium.lancedb(), MONDAY)
    busy = tabularium.fail("countTableRows", "ServiceUnavailable", times=1)
    assert flights.late(tabularium.lancedb()) == 1
    assert busy.fired == 1


def test_a_refusal_is_told_and_nothing_is_recorded(tabularium):
    tabularium.fail("mergeInsertIntoTable", "PermissionDenied", message="read only until Monday")
    with pytest.raises(Exception, match="read only until Monday"):
        flights.record(tabularium.lancedb(), MONDAY)
    assert tabularium.lancedb().open_table("flights").count_rows() == 0
