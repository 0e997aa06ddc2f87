# Reads every version of a table by Lance for Python, and prints its rows as JSON lines: `read.py URL NAME`.
import json
import sys

import lance
import lance_namespace

ns = lance_namespace.connect("rest", {"uri": sys.argv[1]})
table = lance.dataset(namespace_client=ns, table_id=[sys.argv[2]])
for version in table.versions():
    rows = table.checkout_version(version["version"]).to_table(columns=["n", "name"]).to_pylist()
    print(json.dumps(sorted([row["n"], row["name"]] for row in rows)))
