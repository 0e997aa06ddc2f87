"""A tool that keeps flights in LanceDB."""

import pyarrow as pa

SCHEMA = pa.schema({"id": pa.int64(), "delay": pa.int32(), "vector": pa.list_(pa.float32(), 2)})


def record(db, flights):
    """Adds flights; those that are there already get new values."""
    rows = pa.Table.from_pylist(flights, SCHEMA)
    table = db.create_table("flights", schema=SCHEMA, exist_ok=True)
    table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)


def late(db, minutes=60):
    return db.open_table("flights").count_rows(f"delay > {int(minutes)}")


def most_like(db, vector):
    """The id of the flight whose vector is nearest."""
    return db.open_table("flights").search(vector).limit(1).to_list()[0]["id"]
