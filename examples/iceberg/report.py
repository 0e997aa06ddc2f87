"""Asks tables with DuckDB that PyIceberg has written, and changes two of them in one transaction."""

import importlib
from pathlib import Path

import duckdb
import flights
from fake import Fake
from pyiceberg.catalog import load_catalog


def connect(uri):
    """DuckDB with its extensions from PyPI, and the catalog as `lake`."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "httpfs", "iceberg"):
        folder = Path(importlib.import_module(f"duckdb_extension_{name}").__file__).parent
        (file,) = folder.glob("**/*.duckdb_extension")
        connection.execute(f"LOAD '{file}'")
    connection.execute(f"ATTACH 'lake' AS lake (TYPE ICEBERG, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none')")
    return connection


with Fake() as fake:
    catalog = load_catalog("lake", type="rest", uri=fake.uri)
    flights.record(
        catalog,
        [
            {"id": 1, "origin": "SFO", "delay": 75},
            {"id": 2, "origin": "LAX", "delay": 12},
            {"id": 3, "origin": "SFO", "delay": 5},
        ],
    )

    db = connect(fake.uri)
    print(db.execute("SELECT origin, avg(delay) FROM lake.prod.flights GROUP BY origin ORDER BY origin").fetchall())

    # Both tables change, or none of them.
    db.execute("CREATE TABLE lake.prod.closed (id BIGINT, delay BIGINT)")
    db.execute("BEGIN")
    db.execute("INSERT INTO lake.prod.closed SELECT id, delay FROM lake.prod.flights WHERE delay > 30")
    db.execute("DELETE FROM lake.prod.flights WHERE delay > 30")
    db.execute("COMMIT")

    print(flights.late(catalog), "late")
    print(catalog.load_table("prod.closed").scan().to_arrow().to_pylist())
