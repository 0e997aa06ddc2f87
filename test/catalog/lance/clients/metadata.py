# Reads every version of a table by Lance for Python, and prints its schema metadata and rows as JSON lines, and what Lance
# tells of its transactions: `metadata.py URL NAME`.
import json
import sys

import lance
import lance_namespace

ns = lance_namespace.connect("rest", {"uri": sys.argv[1]})
table = lance.dataset(namespace_client=ns, table_id=[sys.argv[2]])
for version in table.versions():
    number = version["version"]
    at = table.checkout_version(number)
    metadata = {key.decode(): value.decode() for key, value in (at.schema.metadata or {}).items()}
    rows = sorted([row["n"], row["name"]] for row in at.to_table(columns=["n", "name"]).to_pylist())
    try:
        changed = at.read_transaction(number)
    except TypeError:
        # Lance for Python cannot show some transactions that merge fragments.
        changed = None
    updates = getattr(getattr(changed, "operation", None), "schema_metadata_updates", None)
    told = updates and {"updates": updates.updates, "replace": updates.replace}
    print(json.dumps({"metadata": metadata, "rows": rows, "told": told}))
