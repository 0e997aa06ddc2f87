"""Flights and their delays, in a table of Iceberg."""

import pyarrow as pa

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("origin", pa.string()),
        pa.field("delay", pa.int64()),
    ]
)


def table(catalog):
    catalog.create_namespace_if_not_exists("prod")
    return catalog.create_table_if_not_exists("prod.flights", schema=SCHEMA)


def record(catalog, flights):
    """Adds flights. One with an id that is there replaces it."""
    rows = pa.Table.from_pylist(flights, SCHEMA)
    table(catalog).upsert(rows, join_cols=["id"])


def late(catalog, minutes=30):
    """How many flights were late by more than so many minutes."""
    return table(catalog).scan(row_filter=f"delay > {minutes}").to_arrow().num_rows


def as_of(catalog, snapshot_id):
    """The flights as they were at a snapshot."""
    return table(catalog).scan(snapshot_id=snapshot_id).to_arrow().sort_by("id").to_pylist()
