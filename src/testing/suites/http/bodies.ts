import assert from 'node:assert/strict'
import { rule, type Topic } from '../suite.ts'
import { good, type HttpTrial, problem, tablePath } from './trial.ts'

const stream = 'application/vnd.apache.arrow.stream'

async function arrow(count: number): Promise<Uint8Array> {
  const { tableFromArrays, tableToIPC } = await import('@uwdata/flechette')
  const n = Int32Array.from({ length: count }, (_, i) => i)
  return tableToIPC(tableFromArrays({ n }), { format: 'stream' })!
}

async function create(trial: HttpTrial, name: string, count: number): Promise<void> {
  const asking = { body: await arrow(count), headers: { 'content-type': stream } }
  good(await trial.ask('POST', tablePath(trial, name, 'create'), asking))
}

const rowsToo = ['createTable']

export const bodies: Topic<HttpTrial> = {
  name: 'bodies',
  cases: [
    rule(
      'http.empty-body',
      'document 4',
      'A request whose fields are all absent may have an empty body, as well as {}.',
      [],
      async (trial: HttpTrial) => {
        const { ask, post } = trial
        await post(tablePath(trial, 't', 'declare'), {})
        good(await ask('POST', tablePath(trial, 't', 'describe')))
        good(await ask('POST', tablePath(trial, 't', 'describe'), { body: {} }))
      },
    ),
    rule(
      'http.count',
      'document 4.4',
      'Counting answers with a bare JSON integer, not an object.',
      [...rowsToo, 'countTableRows'],
      async (trial: HttpTrial) => {
        await create(trial, 't', 7)
        const path = tablePath(trial, 't', 'count_rows')
        assert.equal(good(await trial.ask('POST', path, { body: {} })), 7)
        assert.equal(good(await trial.ask('POST', path, { body: { predicate: 'n > 4', version: 1 } })), 2)
        problem(await trial.ask('POST', path, { body: { version: -1 } }), 400)
        problem(await trial.ask('POST', path, { body: { predicate: 'none = 1' } }), 400)
      },
    ),
    rule(
      'http.update',
      'protocol: update table',
      'Updates are pairs in the body; the answer has updated_rows and the version as whole numbers.',
      [...rowsToo, 'updateTable'],
      async (trial: HttpTrial) => {
        await create(trial, 't', 7)
        const path = tablePath(trial, 't', 'update')
        const body = { updates: [['n', 'n + 1']], predicate: 'n > 4' }
        const { updated_rows, version } = good(await trial.ask('POST', path, { body })) as Record<
          string,
          unknown
        >
        assert.deepEqual([updated_rows, version], [2, 2])
        problem(await trial.ask('POST', path, { body: { updates: [['n']] } }), 400)
        problem(await trial.ask('POST', path, { body: { updates: [['none', '1']] } }), 404)
      },
    ),
    rule(
      'http.columns',
      'protocol: add, alter and drop columns',
      'Types of columns travel as JSON, the answer is the version, and a column that is not there is 404.',
      [...rowsToo, 'alterTableAddColumns', 'alterTableAlterColumns', 'alterTableDropColumns'],
      async (trial: HttpTrial) => {
        await create(trial, 't', 3)
        const change = (verb: string, body: object) =>
          trial.ask('POST', tablePath(trial, 't', verb), { body })
        const versionIn = (answer: unknown) => (answer as { version?: unknown }).version
        const new_columns = [{ name: 'm', expression: 'n + 1' }]
        assert.equal(versionIn(good(await change('add_columns', { new_columns }))), 2)
        const alterations = [{ path: 'm', data_type: { type: 'int64' } }]
        assert.equal(versionIn(good(await change('alter_columns', { alterations }))), 3)
        assert.equal(versionIn(good(await change('drop_columns', { columns: ['n'] }))), 4)
        problem(await change('drop_columns', { columns: ['n'] }), 404)
        problem(await change('add_columns', { new_columns }), 400)
      },
    ),
    rule(
      'http.plans',
      'protocol: explain and analyze table query plan',
      'Explaining and analyzing a query answer with a bare JSON string.',
      [...rowsToo, 'explainTableQueryPlan', 'analyzeTableQueryPlan'],
      async (trial: HttpTrial) => {
        await create(trial, 't', 7)
        const query = { filter: 'n > 2', vector: [], k: 5 }
        const explained = await trial.ask('POST', tablePath(trial, 't', 'explain_plan'), { body: { query } })
        assert.equal(typeof good(explained), 'string')
        const analyzed = await trial.ask('POST', tablePath(trial, 't', 'analyze_plan'), { body: query })
        assert.equal(typeof good(analyzed), 'string')
        problem(await trial.ask('POST', tablePath(trial, 't', 'explain_plan'), { body: {} }), 400)
      },
    ),
    rule(
      'http.indices',
      'protocol: describe and drop table index',
      'The name of an index is the segment of the path, percent-encoded; an unknown one is 404.',
      [...rowsToo, 'createTableIndex', 'describeTableIndexStats', 'dropTableIndex'],
      async (trial: HttpTrial) => {
        await create(trial, 't', 7)
        const name = 'by n/1'
        const body = { column: 'n', index_type: 'BTREE', name }
        good(await trial.ask('POST', tablePath(trial, 't', 'create_index'), { body }))
        const path = (verb: string) => tablePath(trial, 't', `index/${encodeURIComponent(name)}/${verb}`)
        const stats = good(await trial.ask('POST', path('stats'), { body: {} })) as { index_type: string }
        assert.equal(stats.index_type.toUpperCase(), 'BTREE')
        good(await trial.ask('POST', path('drop')))
        problem(await trial.ask('POST', path('stats'), { body: {} }), 404)
        problem(await trial.ask('POST', path('drop')), 404)
      },
    ),
    rule(
      'http.metadata',
      'document 4.3',
      'Schema metadata travels as the bare map, both ways.',
      [...rowsToo, 'updateTableSchemaMetadata'],
      async (trial: HttpTrial) => {
        await create(trial, 't', 1)
        const path = tablePath(trial, 't', 'schema_metadata/update')
        assert.deepEqual(good(await trial.ask('POST', path, { body: { a: '1', metadata: 'x' } })), {
          a: '1',
          metadata: 'x',
        })
        assert.deepEqual(good(await trial.ask('POST', path, { body: { b: '2' } })), { b: '2' })
        problem(await trial.ask('POST', path, { body: { b: 2 } }), 400)
        problem(await trial.ask('POST', path, { body: [] }), 400)
      },
    ),
    rule(
      'http.delete',
      'document 4.1',
      'Deleting rows answers with the commit version.',
      [...rowsToo, 'deleteFromTable', 'countTableRows'],
      async (trial: HttpTrial) => {
        await create(trial, 't', 9)
        const { version } = await trial.post(tablePath(trial, 't', 'delete'), { predicate: 'n < 4' })
        assert.equal(version, 2)
        assert.equal(good(await trial.ask('POST', tablePath(trial, 't', 'count_rows'), { body: {} })), 5)
      },
    ),
    rule(
      'http.arrow',
      'protocol: create, insert and query table',
      'Rows travel as Arrow IPC, whose content type the answer names; JSON in their place is 400.',
      [...rowsToo, 'insertIntoTable', 'queryTable'],
      async (trial: HttpTrial) => {
        await create(trial, 't', 3)
        const asking = { body: await arrow(2), headers: { 'content-type': stream } }
        good(await trial.ask('POST', tablePath(trial, 't', 'insert'), asking))
        const reply = await trial.ask('POST', tablePath(trial, 't', 'query'), { body: {} })
        assert.equal(reply.status, 200, reply.text.slice(0, 300))
        assert.match(
          reply.headers.get('content-type') ?? '',
          /^application\/vnd\.apache\.arrow\.(file|stream)/,
        )
        const { tableFromIPC } = await import('@uwdata/flechette')
        assert.equal(tableFromIPC(reply.bytes).numRows, 5)
        for (const body of [{ n: [1] }, 'not arrow']) {
          problem(await trial.ask('POST', tablePath(trial, 'u', 'create'), { body }), 400)
        }
        const broken = { body: (await arrow(2)).slice(0, -20), headers: { 'content-type': stream } }
        problem(await trial.ask('POST', tablePath(trial, 'u', 'create'), broken), 400)
      },
    ),
    rule(
      'http.query',
      'protocol: query table',
      'The body of a query has aliases of expressions, keys of an order and with_row_id; what is none of these is 400.',
      [...rowsToo, 'queryTable'],
      async (trial: HttpTrial) => {
        await create(trial, 't', 5)
        const path = tablePath(trial, 't', 'query')
        const order_by = [{ column_name: 'n', ascending: false, nulls_first: false }]
        const columns = { column_aliases: { n: 'n', twice: 'n * 2' } }
        const reply = await trial.ask('POST', path, { body: { columns, order_by, with_row_id: true, k: 2 } })
        assert.equal(reply.status, 200, reply.text.slice(0, 300))
        const { tableFromIPC } = await import('@uwdata/flechette')
        const found = tableFromIPC(reply.bytes)
        assert.deepEqual([...found.getChild('twice')].map(Number), [8, 6])
        assert.deepEqual([...found.getChild('_rowid')].map(Number), [4, 3])
        for (const body of [
          { order_by: [{ ascending: true }] },
          { order_by: { column_name: 'n' } },
          { order_by: [{ column_name: 'n', ascending: 'no' }] },
          { columns: { column_aliases: { a: 'n +' } } },
          { with_row_id: 'yes' },
        ]) {
          problem(await trial.ask('POST', path, { body }), 400)
        }
      },
    ),
    rule(
      'http.list',
      'document 4.9',
      'Listing takes limit, page_token and include_declared in the query; the last page has no token.',
      [],
      async (trial: HttpTrial) => {
        const { ask, post, home } = trial
        for (const name of ['a', 'b', 'c']) await post(tablePath(trial, name, 'declare'))
        await post(tablePath(trial, 'c', 'version/create'), { version: 1, manifest_path: 'm' })
        const list = async (query: string) =>
          good(await ask('GET', `/v1/namespace/${home}/table/list?${query}`))
        const first = await list('limit=2')
        assert.deepEqual(first.tables, [`${home}$a`, `${home}$b`])
        assert.ok(typeof first.page_token === 'string' && first.page_token !== '')
        const last = await list(`limit=2&page_token=${encodeURIComponent(first.page_token)}`)
        assert.deepEqual(last.tables, [`${home}$c`])
        assert.ok(!last.page_token)
        assert.deepEqual((await list('include_declared=false')).tables, [`${home}$c`])
        for (const query of ['limit=-1', 'limit=1.5', 'limit=x', 'include_declared=maybe', 'page_token=x']) {
          problem(await ask('GET', `/v1/namespace/${home}/table/list?${query}`), 400)
        }
      },
    ),
    rule(
      'http.transaction',
      'document 4.7 and 2',
      'A transaction is described by its id in the path; its status is in PascalCase.',
      ['describeTransaction'],
      async (trial: HttpTrial) => {
        const { transaction_id } = await trial.post(tablePath(trial, 't', 'declare'))
        assert.equal(typeof transaction_id, 'string')
        const told = await trial.post(`/v1/transaction/${transaction_id}/describe`)
        assert.equal(told.status, 'Succeeded')
        assert.equal(typeof told.properties, 'object')
      },
    ),
    rule(
      'http.batch',
      'document 4.8',
      'A batch has no identifier in its path; a failure answers with the status of its reason, and nothing is done.',
      ['batchCommitTables'],
      async (trial: HttpTrial) => {
        const { ask, post, home } = trial
        const declare_table = { id: [home, 'a'] }
        const { results } = await post('/v1/table/batch-commit', { operations: [{ declare_table }] })
        assert.deepEqual(Object.keys((results as object[])[0]!), ['declare_table'])
        const again = { operations: [{ declare_table: { id: [home, 'b'] } }, { declare_table }] }
        problem(await ask('POST', '/v1/table/batch-commit', { body: again }), 409, 'TableAlreadyExists')
        const { tables } = good(await ask('GET', `/v1/namespace/${home}/table/list`))
        assert.deepEqual(tables, [`${home}$a`])
        problem(await ask('POST', '/v1/table/batch-commit', { body: { operations: [] } }), 400)
      },
    ),
    rule(
      'http.context',
      'document 2, context and identity',
      'A context of text and an identity are taken with every JSON body; of another shape they are 400.',
      [],
      async (trial: HttpTrial) => {
        const path = tablePath(trial, 't', 'declare')
        await trial.post(path, { context: { 'header.x-trace': '1', note: 'a' }, identity: { api_key: 'k' } })
        const bad = [{ context: 'x' }, { context: { a: 1 } }, { identity: 'me' }]
        for (const body of bad) problem(await trial.ask('POST', path, { body }), 400)
      },
    ),
    rule(
      'http.nulls',
      'document 1, requiredness',
      'A field that is null counts as absent.',
      [],
      async (trial: HttpTrial) => {
        const nulls = { identity: null, context: null, properties: null }
        const namespace = `/v1/namespace/${trial.home}$n`
        await trial.post(`${namespace}/create`, { ...nulls, mode: null })
        await trial.post(`${namespace}/drop`, { mode: null, behavior: null })
        await trial.post(tablePath(trial, 't', 'declare'), {
          ...nulls,
          location: null,
          vend_credentials: null,
        })
        await trial.post(tablePath(trial, 't', 'describe'), {
          identity: { api_key: null, auth_token: null },
          version: null,
          vend_credentials: null,
        })
      },
    ),
  ],
}
