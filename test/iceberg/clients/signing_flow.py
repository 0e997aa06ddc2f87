"""PyIceberg without credentials for S3: the catalog signs its requests. Arguments: the URL, a folder, the endpoint of S3."""

import sys

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import SignError
from pyiceberg.expressions import EqualTo
from steps import end, expect, refused, step

url, _, endpoint = sys.argv[1:4]
catalog = load_catalog(
    "signed",
    **{
        "type": "rest",
        "uri": url,
        "header.X-Iceberg-Access-Delegation": "remote-signing",
        "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO",
        "s3.endpoint": endpoint,
        "s3.region": "us-east-1",
    },
)
flights = pa.schema([("origin", pa.string()), ("delay", pa.int64())])


def rows(*delays):
    return pa.table({"origin": ["SFO"] * len(delays), "delay": list(delays)}, flights)


def seen(name="flights"):
    return sorted(catalog.load_table(("prod", name)).scan().to_arrow()["delay"].to_pylist())


@step("create a table, which has a signer")
def _():
    catalog.create_namespace("prod")
    table = catalog.create_table("prod.flights", schema=flights)
    expect(table.location().startswith("s3://"), True)
    return expect(table.io.properties["s3.signer"], "S3V4RestSigner")


@step("append, and read")
def _():
    catalog.load_table("prod.flights").append(rows(1, 2))
    return expect(seen(), [1, 2])


@step("append to partitions, with names that a URL encodes")
def _():
    table = catalog.create_table("prod.parts", schema=flights)
    with table.update_spec() as update:
        update.add_identity("origin")
    odd = ["a b", "a+b", "ä/é", "100%", "a=b&c", "(x)*!'"]
    table.append(pa.table({"origin": odd, "delay": list(range(len(odd)))}, flights))
    return expect(seen("parts"), list(range(len(odd))))


@step("rows of a file are deleted, and those of another stay")
def _():
    table = catalog.load_table("prod.flights")
    table.append(rows(3, 4))
    table.delete(EqualTo("delay", 3))
    return expect(seen(), [1, 2, 4])


@step("overwrite")
def _():
    catalog.load_table("prod.flights").overwrite(rows(*range(2_000)))
    return expect(len(seen()), 2_000)


@step("a file of several parts")
def _():
    table = catalog.create_table("prod.large", schema=flights)
    # s3fs sends parts of 50 MiB.
    with table.io.new_output(f"{table.location()}/data/large.bin").create() as stream:
        for _ in range(60):
            stream.write(bytes(2**20))
    return expect(len(table.io.new_input(f"{table.location()}/data/large.bin")), 60 * 2**20)


@step("files are not removed, as the signer does not tell the catalog which ones")
def _():
    table = catalog.load_table("prod.large")
    file = f"{table.location()}/data/large.bin"
    refused(SignError, lambda: table.io.delete(file), "403")
    return expect(table.io.new_input(file).exists(), True)


@step("a file of another table is not signed")
def _():
    table = catalog.load_table("prod.large")
    other = catalog.load_table("prod.flights").metadata_location
    return refused(SignError, lambda: table.io.new_input(other).open().read(), "403")


@step("drop and purge")
def _():
    catalog.purge_table("prod.flights")
    return expect(catalog.table_exists("prod.flights"), False)


end()
