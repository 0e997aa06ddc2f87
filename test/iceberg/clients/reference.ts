/* What the reference server in Java, over SQLite, does not do, so that the flows can be judged by it. */

const noNamespaces = 'its tables make their namespaces: it refuses no missing one'
const noFolder = 'DuckDB wants the folder of a staged table to be there'
const afterFolder = 'needs a table that was not created'

const noPaths = 'its HTTP server refuses some characters in paths'
const noJson = 'what it does not know is a page of HTML with 500'
const noNull = 'an id that is not there is a NullPointerException with 500'
const noTags = 'its HTTP server does not pass If-None-Match on'

/** The tests of the kit, the rules of our suite and the steps of flows that the reference always fails, each with its reason. */
export const referenceFails: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  suite: {
    'add-sort-order': noNull,
    'add-spec': noNull,
    'assign-uuid': 'it takes the new UUID, and fails with 500 when it reads it back',
    body: 'a body that it cannot read is a page of HTML with 500',
    config: 'it lists an endpoint without the slash at the beginning of its path',
    etag: noTags,
    'etag-of-change': noTags,
    'namespace-names': noPaths,
    'namespace-orphan': noNamespaces,
    'rename-refused': noNamespaces,
    'requirement-unknown': noJson,
    'table-names': noPaths,
    'table-nowhere': noNamespaces,
    'transaction-creates': 'it creates no table in a transaction',
    'transaction-invalid': noJson,
    'update-unknown': noJson,
    'view-refused': noJson,
  },
  tables: {
    tableCreationWithoutNamespace: noNamespaces,
    testNamespaceWithDot: 'SQLite has its namespaces as one text with dots',
  },
  pyiceberg: {
    'a nested namespace below a missing one: refused': noNamespaces,
    'properties of a missing namespace: refused': noNamespaces,
    'create a table in a missing namespace: refused': noNamespaces,
    'list tables, also in pages': noNamespaces,
    'rename to a name that is taken, or into a missing namespace, or of a missing table: refused':
      noNamespaces,
    'views: in a missing namespace: refused': noNamespaces,
    'drop a namespace that is not empty: refused': 'it drops one that has only namespaces',
    'drop a namespace that is not there: refused': 'an earlier step made it',
    'names with other characters': noPaths,
    'tables with other characters in their names': noPaths,
    'an unknown update is refused and changes nothing': 'its refusal is a page of HTML',
    'the rest is dropped, and so the namespaces': noPaths,
  },
  duckdb: {
    'create table as select': noFolder,
    'the same name created twice at the same time: one of them is there': noFolder,
    'names with other characters': noFolder,
    insert: afterFolder,
    'insert from a select of another table': afterFolder,
    delete: afterFolder,
    'delete of nothing, and of all': afterFolder,
    update: afterFolder,
    merge: afterFolder,
    'time travel by snapshot and by time': afterFolder,
    'inspection: metadata, tables, description': afterFolder,
    'one transaction over three tables, of which one is created in it': afterFolder,
    'several statements on one table in a transaction': afterFolder,
    'rollback leaves nothing': afterFolder,
    'a conflict in one of two tables leaves nothing in part': afterFolder,
    'a conflict beside a table created in the transaction': afterFolder,
  },
  spark: { 'a missing namespace, and one that is there: refused': noNamespaces },
}

const oneAfterOther =
  'it commits the tables of a transaction one after the other, without a lock, so another one may come between'

/**
 * What the reference fails in some runs only, by the times at which requests meet. All else that sends requests at the same
 * time is about one table, which it changes by one compare-and-swap in SQLite, or is a step whose writers take turns.
 */
export const referenceFailsByChance: typeof referenceFails = {
  suite: { 'transactions-at-once': oneAfterOther },
  duckdb: { 'three writers of pairs: both tables have what was committed': oneAfterOther },
}
