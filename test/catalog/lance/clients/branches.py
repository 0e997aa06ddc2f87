# Branches and tags that Lance and the catalog make, of one table: `branches.py URL`.
import datetime
import sys

import lance
import lance_namespace
import pyarrow as pa
from lance_namespace import (
    CreateTableBranchRequest,
    CreateTableTagRequest,
    DeleteTableBranchRequest,
    DeleteTableTagRequest,
    ListTableBranchesRequest,
    ListTableTagsRequest,
    ListTableVersionsRequest,
)

ns = lance_namespace.connect("rest", {"uri": sys.argv[1]})
id = ["t"]


def rows(*ids):
    return pa.table({"id": pa.array(ids, pa.int64())})


def table(branch=None, **options):
    found = lance.dataset(namespace_client=ns, table_id=id, **options)
    return found.checkout_version((branch, None)) if branch else found


def equal(found, expected):
    assert found == expected, f"{found}, and not {expected}"


def refused(what):
    try:
        what()
    except Exception:
        return
    raise AssertionError("it was not refused")


# The clone of a manifest has to carry indices and deletions.
first = lance.write_dataset(rows(*range(100)), namespace_client=ns, table_id=id, mode="create")
first.create_scalar_index("id", "BTREE")
first.delete("id < 5")

ns.create_table_branch(CreateTableBranchRequest(id=id, name="ours"))
equal(table("ours").count_rows(), 95)
equal(table("ours").to_table(filter="id = 77").num_rows, 1)
table("ours").delete("id = 10")
lance.write_dataset(rows(1000, 1001), table("ours"), mode="append")
ns.create_table_branch(CreateTableBranchRequest(id=id, name="deep/er", from_branch="ours"))
table("deep/er").optimize.compact_files()
equal([table("deep/er").count_rows(), table("deep/er").to_table(filter="id = 1001").num_rows], [96, 1])
table("deep/er").create_branch("theirs")
equal(sorted(ns.list_table_branches(ListTableBranchesRequest(id=id)).branches), ["deep/er", "ours", "theirs"])
equal(sorted(table().branches.list()), ["deep/er", "ours", "theirs"])

ns.create_table_tag(CreateTableTagRequest(id=id, tag="ours", version=2))
table().tags.create("theirs", 1)
equal(sorted(ns.list_table_tags(ListTableTagsRequest(id=id)).tags), ["ours", "theirs"])
equal(sorted(table().tags.list()), ["ours", "theirs"])
for more in range(3):
    lance.write_dataset(rows(2000 + more), namespace_client=ns, table_id=id, mode="append")
table().cleanup_old_versions(
    older_than=datetime.timedelta(microseconds=1), error_if_tagged_old_versions=False
)
versions = [found.version for found in ns.list_table_versions(ListTableVersionsRequest(id=id)).versions]
equal(versions, [found["version"] for found in table().versions()])
equal([version in versions for version in (1, 2, 6)], [True, True, True])
equal(table(version="ours").count_rows(), 100)
equal([table(branch).count_rows() for branch in ("ours", "deep/er", "theirs")], [96, 96, 96])

refused(lambda: ns.delete_table_branch(DeleteTableBranchRequest(id=id, name="ours")))
table().branches.delete("theirs")
for branch in ("deep/er", "ours"):
    ns.delete_table_branch(DeleteTableBranchRequest(id=id, name=branch))
equal(table().branches.list(), {})
ns.delete_table_tag(DeleteTableTagRequest(id=id, tag="theirs"))
equal(list(table().tags.list()), ["ours"])
table().create_branch("ours")
equal(table("ours").count_rows(), 98)
print("done")
