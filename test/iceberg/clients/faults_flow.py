"""What PyIceberg makes of the faults of a fake. Called with the URL of the fake and a folder."""

import json
import os
import sys
import time
import urllib.request
from urllib.parse import urlparse

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import AuthorizationExpiredError, CommitFailedException, CommitStateUnknownException
from pyiceberg.exceptions import NoSuchTableError

from steps import end, expect, refused, step

url = sys.argv[1]
control = url.removesuffix("/iceberg") + "/_control"


def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{control}/{path}", data=data, method=method)) as answer:
        return json.load(answer)


def fault(**fields):
    return ask("POST", "faults", fields)["id"]


catalog = load_catalog("fake", type="rest", uri=url)
catalog.create_namespace("prod")
data = pa.table({"x": [1, 2]})
table = catalog.create_table("prod.t", schema=data.schema)
table.append(data)


def rows():
    return catalog.load_table("prod.t").scan().to_arrow().num_rows


@step("the answer of a commit is lost, and the commit is made")
def _():
    fault(operation="iceberg.updateTable", fail="ServiceUnavailable", when="after", times=1)
    detail = refused(CommitStateUnknownException, lambda: catalog.load_table("prod.t").append(data))
    expect(rows(), 4)
    return detail


@step("the next commit has a conflict")
def _():
    fault(operation="iceberg.updateTable", table=["prod", "t"], fail="CommitFailedException", times=1)
    def change():
        with catalog.load_table("prod.t").transaction() as tx:
            tx.set_properties(owner="ada")
    detail = refused(CommitFailedException, change)
    change()
    expect(catalog.load_table("prod.t").properties["owner"], "ada")
    return detail


@step("a load is slow")
def _():
    fault(operation="iceberg.loadTable", delay=700, times=1)
    begun = time.monotonic()
    catalog.load_table("prod.t")
    expect(time.monotonic() - begun >= 0.7, True)


@step("a load is stale")
def _():
    known = fault(operation="iceberg.loadTable", stale="state")
    writer = catalog.load_table("prod.t")
    writer.append(data)
    expect(rows(), 4)
    ask("DELETE", f"faults/{known}")
    expect(rows(), 6)


@step("credentials have expired")
def _():
    known = fault(operation="iceberg.loadTable", fail="AuthenticationTimeoutException")
    detail = refused(AuthorizationExpiredError, lambda: catalog.load_table("prod.t"))
    ask("DELETE", f"faults/{known}")
    expect(rows(), 6)
    return detail


@step("a metadata file is deleted")
def _():
    loaded = catalog.load_table("prod.t")
    os.remove(urlparse(loaded.metadata_location).path)
    return refused(NoSuchTableError, lambda: catalog.load_table("prod.t"))


end()
