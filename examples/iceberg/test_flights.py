import flights
import pytest
from pyiceberg.exceptions import CommitStateUnknownException, ForbiddenError

MONDAY = [
    {"id": 1, "origin": "SFO", "delay": 75},
    {"id": 2, "origin": "LAX", "delay": 12},
]


def test_late_flights_are_counted(catalog):
    flights.record(catalog, MONDAY)
    assert flights.late(catalog) == 1


def test_a_flight_is_corrected_and_history_keeps_what_was(catalog):
    flights.record(catalog, MONDAY)
    before = flights.table(catalog).current_snapshot().snapshot_id
    flights.record(catalog, [{**MONDAY[0], "delay": 5}])
    assert flights.late(catalog) == 0
    assert flights.as_of(catalog, before) == MONDAY


def test_each_test_begins_with_an_empty_catalog(catalog):
    assert catalog.list_namespaces() == []


def test_another_writer_was_first(catalog, fake):
    flights.record(catalog, MONDAY)
    # The server meets the conflict by itself: it applies the commit to the new state.
    fake.fail("transaction", "ConcurrentModification")
    flights.record(catalog, [{"id": 3, "origin": "OAK", "delay": 90}])
    assert flights.late(catalog) == 2


def test_a_commit_is_made_and_its_answer_is_lost(catalog, fake):
    flights.record(catalog, MONDAY)
    fake.fail("transaction", "ServiceUnavailable", when="after")
    with pytest.raises(CommitStateUnknownException):
        flights.record(catalog, [{"id": 3, "origin": "OAK", "delay": 90}])
    assert flights.late(catalog) == 2


def test_a_refusal_is_told_and_nothing_is_recorded(catalog, fake):
    flights.record(catalog, MONDAY)
    fake.fail("transaction", "PermissionDenied", message="read only until Monday")
    with pytest.raises(ForbiddenError, match="read only until Monday"):
        flights.record(catalog, [{"id": 3, "origin": "OAK", "delay": 90}])
    assert flights.late(catalog) == 1
