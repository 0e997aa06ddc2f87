# As writer.ts, with Lance's own package: `writer.py URL NUMBER PATH`. It also changes the table past the catalog.
import datetime
import json
import os
import random
import sys
import threading
import time
import urllib.request

import lance
import lance_namespace
import pyarrow as pa

# Lance does not see a conflict with a version that a cleanup has removed, with a catalog or without. So a handle is used
# for some time only, and versions of that time remain.
most_stale, kept = 20, 60

url, number, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
ns = lance_namespace.connect("rest", {"uri": url})
handles = [None, None, None]
next_id, there = number * 1_000_000, []


def say(**line):
    print(json.dumps(line), flush=True)


def rows(id, n):
    return pa.table({"id": pa.array([id], pa.int64()), "n": pa.array([n], pa.int64())})


def open_table():
    """
    A handle, the rows of this writer that it has, and when it was opened. A handle does not delete what it does not see.
    """
    rows, opened = list(there), time.monotonic()
    return lance.dataset(namespace_client=ns, table_id=["t"]), rows, opened


def change(table, seen, _):
    global next_id
    chance = random.random()
    if chance < 0.4:
        id = random.randrange(10)
        say(op="count", id=id)
        table.update({"n": "n + 1"}, where=f"id = {id}")
    elif chance < 0.6:
        id, next_id = next_id, next_id + 1
        say(op="add", id=id)
        if random.random() < 0.3:
            lance.write_dataset(rows(id, 0), path, mode="append")
        else:
            lance.write_dataset(rows(id, 0), table, mode="append")
        there.append(id)
    elif chance < 0.8:
        id, n, next_id = random.randrange(10, 15), next_id, next_id + 1
        say(op="upsert", id=id, n=n)
        merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(rows(id, n))
    elif chance < 0.98:
        id = seen.pop() if seen else None
        if id not in there:
            return
        there.remove(id)
        say(op="delete", id=id)
        table.delete(f"id = {id}")
    else:
        say(op="cleanup", id=0)
        table.cleanup_old_versions(older_than=datetime.timedelta(seconds=kept), error_if_tagged_old_versions=False)
    say(end="done")


def post(path):
    body = urllib.request.Request(f"{url}/v1/transaction/{path}", b"{}", {"content-type": "application/json"})
    with urllib.request.urlopen(body) as answer:
        return json.load(answer)


def add_pair():
    global next_id
    id, next_id, gives = next_id, next_id + 1, random.random() < 0.2
    say(op="unpaired" if gives else "pair", id=id)
    transaction = post("begin")["transaction_id"]
    inside = lance_namespace.connect("rest", {"uri": url, "header.x-tabularium-transaction": transaction})
    for name in random.sample(["u", "w"], 2):
        lance.write_dataset(rows(id, 0), namespace_client=inside, table_id=[name], mode="append")
    post(f"{transaction}/{'rollback' if gives else 'commit'}")
    say(end="done")


def end_with_input():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_input, daemon=True).start()
while True:
    at = random.randrange(len(handles))
    try:
        if random.random() < 0.15:
            add_pair()
            continue
        if random.random() < 0.2 or (handles[at] and time.monotonic() - handles[at][2] > most_stale):
            handles[at] = None
        handles[at] = handles[at] or open_table()
        change(*handles[at])
    except BaseException as error:
        say(end="failed", message=str(error)[:300])
        handles[at] = None
        time.sleep(random.choice([0.01, 0.05, 0.1]))
