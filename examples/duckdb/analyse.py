"""Joins and aggregates with DuckDB over a catalog behind a URL: python analyse.py http://127.0.0.1:2333"""

import importlib
import json
import sys
import urllib.request
from pathlib import Path

import duckdb
import lance
import lance_namespace
import pyarrow as pa

url = sys.argv[1]


def query(table, **request):
    """Rows of a table as Arrow: the columns and rows that are asked for, all of one version."""
    body = json.dumps(request).encode()
    asked = urllib.request.Request(f"{url}/v1/table/{table}/query", body, {"content-type": "application/json"})
    with urllib.request.urlopen(asked) as answer:
        return pa.ipc.open_file(answer.read()).read_all()


def connect():
    """DuckDB with its extensions from PyPI. With an internet connection, `INSTALL iceberg` and the like do it, too."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "httpfs", "iceberg", "lance"):
        folder = Path(importlib.import_module(f"duckdb_extension_{name}").__file__).parent
        (file,) = folder.glob("**/*.duckdb_extension")
        connection.execute(f"LOAD '{file}'")
    return connection


db = connect()

# Tables of the catalog itself: DuckDB reads variables that hold Arrow.
flights = query("flights", columns=["carrier", "origin", "delay"], filter="delay IS NOT NULL")
airports = query("airports")
print(db.sql("SELECT city, max(delay) FROM flights JOIN airports ON origin = code GROUP BY city ORDER BY city").fetchall())

# Tables of Iceberg: DuckDB reads and writes them in the catalog.
db.execute(f"ATTACH 'lake' AS lake (TYPE ICEBERG, ENDPOINT '{url}/iceberg', AUTHORIZATION_TYPE 'none')")
db.execute("CREATE SCHEMA IF NOT EXISTS lake.ops")
db.execute("CREATE TABLE IF NOT EXISTS lake.ops.seats AS SELECT * FROM (VALUES ('Kite', 180), ('Finch', 90)) t(carrier, seats)")
print(db.sql("SELECT sum(delay * seats) FROM flights JOIN lake.ops.seats USING (carrier)").fetchall())

# Tables of Lance: Lance's own package finds them by their names in the catalog, and DuckDB reads its datasets.
namespace = lance_namespace.connect("rest", {"uri": url})
stars = pa.table({"carrier": ["Kite", "Finch", "Kite"], "stars": [2, 5, 4]})
try:
    lance.write_dataset(stars, namespace_client=namespace, table_id=["reviews"], mode="create")
except Exception as error:
    if "already exists" not in str(error):
        raise
reviews = lance.dataset(namespace_client=namespace, table_id=["reviews"])
print(db.sql("SELECT carrier, avg(stars) FROM reviews GROUP BY carrier ORDER BY carrier").fetchall())

# DuckDB attaches those that lie outside of namespaces by itself: $ is the root.
db.execute(f"ATTACH '$' AS lance (TYPE LANCE, ENDPOINT '{url}')")
print(
    db.sql("""
        SELECT r.carrier, max(stars), max(seats), max(delay)
        FROM lance.main.reviews r JOIN lake.ops.seats s USING (carrier) JOIN flights f USING (carrier)
        GROUP BY ALL ORDER BY ALL
    """).fetchall()
)
