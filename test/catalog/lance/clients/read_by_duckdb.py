# Answers each line of its input, the path of a dataset, with the rows that DuckDB's extension for Lance reads there.
import glob
import importlib.util
import json
import sys

import duckdb

(folder,) = importlib.util.find_spec("duckdb_extension_lance").submodule_search_locations
(extension,) = glob.glob(f"{folder}/extensions/*/lance.duckdb_extension")
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    # A new one each time: it keeps what it has read of a path.
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as db:
        db.execute(f"LOAD '{extension}'")
        rows = db.execute("SELECT id, name FROM __lance_scan(?) ORDER BY id, name", [line.strip()]).fetchall()
    print(json.dumps(rows), flush=True)
