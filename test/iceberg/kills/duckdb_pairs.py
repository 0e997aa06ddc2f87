"""DuckDB writes to two tables in each transaction: duckdb_pairs.py URL NAMESPACE LEFT RIGHT FIRST STEP COUNT FOLDER...

Each transaction has a number, from FIRST in steps. It prints a line of JSON when one begins, and when one ends.
With COUNT 0, it prints the rows of both tables instead.

DuckDB deletes the data files of a commit without an answer, although it may have been made. So they are put back from
links to them, which are made in the FOLDERs of data files before the commit.
"""

import glob
import importlib
import json
import os
import sys
import time

import duckdb

url, namespace, left, right = sys.argv[1:5]
first, step, count = (int(text) for text in sys.argv[5:8])
folders = sys.argv[8:]


def connect():
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "httpfs", "iceberg"):
        folder = os.path.dirname(importlib.import_module(f"duckdb_extension_{name}").__file__)
        (file,) = glob.glob(f"{folder}/**/*.duckdb_extension", recursive=True)
        connection.execute(f"LOAD '{file}'")
    # It would send a commit without an answer again, and take the answer to the second one for that of the first.
    connection.execute("SET http_retries = 0")
    connection.execute("SET http_timeout = 5")
    connection.execute(f"ATTACH 'wh' AS ice (TYPE ICEBERG, ENDPOINT '{url}', AUTHORIZATION_TYPE 'none')")
    return connection


def say(**line):
    print(json.dumps(line), flush=True)


def connected():
    while True:
        try:
            return connect()
        except duckdb.Error:
            time.sleep(0.05)


def keep():
    for file in (file for folder in folders for file in glob.glob(f"{folder}/*.parquet")):
        try:
            os.link(file, f"{file}.kept")
        except (FileExistsError, FileNotFoundError):
            pass


def put_back():
    for kept in (kept for folder in folders for kept in glob.glob(f"{folder}/*.kept")):
        try:
            os.link(kept, kept.removesuffix(".kept"))
        except FileExistsError:
            pass


if count == 0:
    rows = [
        [x for (x,) in connected().execute(f"select x from ice.{namespace}.{name} order by x").fetchall()]
        for name in (left, right)
    ]
    say(rows=rows)
    sys.exit()

connection = connected()
for number in range(first, first + count * step, step):
    say(began=number)
    committing = False
    try:
        connection.execute("begin")
        for name in (left, right):
            connection.execute(f"insert into ice.{namespace}.{name} values ({number})")
        keep()
        committing = True
        connection.execute("commit")
        say(ended=number, outcome="acknowledged")
    except duckdb.Error as error:
        say(ended=number, outcome="failed", committing=committing, message=str(error)[:500])
        connection.close()
        put_back()
        connection = connected()
