"""Joins and aggregates with Polars over a catalog behind a URL: python analyse.py http://127.0.0.1:2333"""

import json
import sys
import urllib.request

import lance
import lance_namespace
import polars as pl
from pyiceberg.catalog import load_catalog

url = sys.argv[1]


def query(table, **request):
    """Rows of a table: the columns and rows that are asked for, all of one version."""
    body = json.dumps(request).encode()
    asked = urllib.request.Request(f"{url}/v1/table/{table}/query", body, {"content-type": "application/json"})
    with urllib.request.urlopen(asked) as answer:
        return pl.read_ipc(answer.read())


# Tables of the catalog itself, as Arrow.
flights = query("flights", columns=["carrier", "origin", "delay"], filter="delay IS NOT NULL")
by_city = flights.join(query("airports"), left_on="origin", right_on="code").group_by("city").agg(pl.max("delay"))
print(by_city.sort("city").rows())

# Tables of Iceberg: Polars scans what PyIceberg loads, and reads the files that it needs.
lake = load_catalog("lake", type="rest", uri=f"{url}/iceberg")
lake.create_namespace_if_not_exists("ops")
rows = pl.DataFrame({"carrier": ["Kite", "Finch"], "seats": [180, 90]})
rows.write_iceberg(lake.create_table_if_not_exists("ops.seats", rows.to_arrow().schema), mode="overwrite")
seats = pl.scan_iceberg(lake.load_table("ops.seats"))
print(flights.lazy().join(seats, on="carrier").select((pl.col("delay") * pl.col("seats")).sum()).collect().item())

# Tables of Lance: Lance's own package finds them by their names in the catalog.
namespace = lance_namespace.connect("rest", {"uri": url})
stars = pl.DataFrame({"carrier": ["Kite", "Finch", "Kite"], "stars": [2, 5, 4]})
try:
    lance.write_dataset(stars.to_arrow(), namespace_client=namespace, table_id=["reviews"], mode="create")
except Exception as error:
    if "already exists" not in str(error):
        raise
reviews = pl.scan_pyarrow_dataset(lance.dataset(namespace_client=namespace, table_id=["reviews"]))
by_carrier = reviews.group_by("carrier").agg(pl.mean("stars"))
print(by_carrier.join(seats, on="carrier").sort("carrier").collect().rows())
