"""Joins and aggregates with pandas over a catalog behind a URL: python analyse.py http://127.0.0.1:2333"""

import io
import json
import sys
import urllib.request

import lance
import lance_namespace
import pandas as pd
import pyarrow as pa
from pyiceberg.catalog import load_catalog

url = sys.argv[1]


def query(table, **request):
    """Rows of a table: the columns and rows that are asked for, all of one version."""
    body = json.dumps(request).encode()
    asked = urllib.request.Request(f"{url}/v1/table/{table}/query", body, {"content-type": "application/json"})
    with urllib.request.urlopen(asked) as answer:
        return pd.read_feather(io.BytesIO(answer.read()))


# Tables of the catalog itself, as Arrow files, which are Feather files, too.
flights = query("flights", columns=["carrier", "origin", "delay"], filter="delay IS NOT NULL")
by_city = flights.merge(query("airports"), left_on="origin", right_on="code").groupby("city")["delay"].max()
print(by_city.to_dict())

# Tables of Iceberg, by PyIceberg.
lake = load_catalog("lake", type="rest", uri=f"{url}/iceberg")
lake.create_namespace_if_not_exists("ops")
rows = pa.Table.from_pandas(pd.DataFrame({"carrier": ["Kite", "Finch"], "seats": [180, 90]}))
lake.create_table_if_not_exists("ops.seats", rows.schema).overwrite(rows)
seats = lake.load_table("ops.seats").scan().to_pandas()
joined = flights.merge(seats, on="carrier")
print((joined["delay"] * joined["seats"]).sum())

# Tables of Lance: Lance's own package finds them by their names in the catalog.
namespace = lance_namespace.connect("rest", {"uri": url})
stars = pa.table({"carrier": ["Kite", "Finch", "Kite"], "stars": [2, 5, 4]})
try:
    lance.write_dataset(stars, namespace_client=namespace, table_id=["reviews"], mode="create")
except Exception as error:
    if "already exists" not in str(error):
        raise
reviews = lance.dataset(namespace_client=namespace, table_id=["reviews"]).to_table().to_pandas()
print(reviews.groupby("carrier")["stars"].mean().to_dict())
