# Appends to a table inside of a transaction, and says what is seen where: `transaction.py URL ID TABLE ROW OTHER`.
import json
import sys

import lance
import lance_namespace
import pyarrow as pa

url, transaction, table, row, other = sys.argv[1:]
outside = lance_namespace.connect("rest", {"uri": url})
inside = lance_namespace.connect("rest", {"uri": url, "header.x-tabularium-transaction": transaction})


def state(dataset):
    return [dataset.version, sorted(dataset.to_table()["id"].to_pylist())]


def through(namespace):
    return {name: state(lance.dataset(namespace_client=namespace, table_id=[name])) for name in (table, other)}


def direct():
    paths = {name: lance.dataset(namespace_client=outside, table_id=[name]).uri for name in (table, other)}
    return {name: state(lance.dataset(path)) for name, path in paths.items()}


rows = pa.table({"id": pa.array([float(row)])})
lance.write_dataset(rows, namespace_client=inside, table_id=[table], mode="append")
print(json.dumps({"inside": through(inside), "outside": through(outside), "direct": direct()}))
