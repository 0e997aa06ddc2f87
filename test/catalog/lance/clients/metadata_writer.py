# Changes a table by Lance for Python while others change its schema metadata, with a handle that grows stale each time:
# `metadata_writer.py URL NAME ROUNDS`. Ends when all is done.
import sys

import lance
import lance_namespace
import pyarrow as pa

url, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
ns = lance_namespace.connect("rest", {"uri": url})


def opened():
    return lance.dataset(namespace_client=ns, table_id=[name])


def rows(n, text):
    return pa.table({"n": pa.array([n], pa.float64()), "name": pa.array([text], pa.string())})


for number in range(rounds):
    # Any of these may lose a race against another writer of rows. Against a change of metadata none does.
    opened().update({"n": "n + 1"}, where="name = 'python'")
    lance.write_dataset(rows(1_000 + number, "appended"), opened(), mode="append")
    merge = opened().merge_insert("n").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(rows(1_000 + number, "merged"))
    if number % 2 == 0:
        opened().delete(f"n = {1_000 + number}")
opened().optimize.compact_files()
opened().create_scalar_index("n", "BTREE", replace=True)
opened().optimize.optimize_indices()
print("done")
