# Creates a table of object storage and appends to it, by the credentials that the catalog vends: `objects.py URL TABLE`.
import json
import sys

import lance
import lance_namespace
import pyarrow as pa

url, table = sys.argv[1:]
by = {"namespace_client": lance_namespace.connect("rest", {"uri": url}), "table_id": [table]}


def rows(*ids):
    return pa.table({"id": pa.array(ids, pa.int64())})


lance.write_dataset(rows(1), mode="create", **by)
lance.write_dataset(rows(2, 3), mode="append", **by)
dataset = lance.dataset(**by)
dataset.delete("id = 2")
found = lance.dataset(**by)
ids = lambda version: sorted(found.checkout_version(version).to_table()["id"].to_pylist())
print(json.dumps({"uri": found.uri, "versions": [ids(version) for version in (1, 2, 3)]}))
