# Appends a row to a table of a catalog, or to a dataset: `append.py URL TABLE ID`, `append.py PATH ID`.
import sys

import lance
import lance_namespace
import pyarrow as pa

*where, row = sys.argv[1:]
rows = pa.table({"id": pa.array([float(row)])})
if len(where) == 1:
    lance.write_dataset(rows, where[0], mode="append")
else:
    namespace = lance_namespace.connect("rest", {"uri": where[0]})
    lance.write_dataset(rows, namespace_client=namespace, table_id=[where[1]], mode="append")
