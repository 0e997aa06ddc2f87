import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { idSource } from '../../../src/base/model/ids.ts'
import type { Store } from '../../../src/base/store/store.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { CatalogError, type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, eachCatalog, freshFolder, stoppedClock } from '../../support/catalogs.ts'
import { contentWith, pathsOf } from '../../support/contents.ts'
import { fails, refuses } from '../../support/refusals.ts'
import { countOf, numbered, rowsOf } from '../../support/rows.ts'
import { turns } from '../../support/turns.ts'

const id = ['t']
const status = async (catalog: LocalCatalog, transaction: string) =>
  (await catalog.describeTransaction({ id: [transaction] })).status
const cancel = (transaction: string) => ({
  id: [transaction],
  actions: [{ setStatusAction: { status: 'Canceled' } }],
})

eachCatalog((open) => {
  describe('describeTransaction', () => {
    it('tells of a change made at once: status, what, when and on what (4.7)', async () => {
      const now = stoppedClock(Date.UTC(2026, 1, 3, 4, 5, 6, 7))
      const catalog = await open({ now })
      await catalog.createNamespace({ id: ['n'] })
      const { transaction_id } = await catalog.declareTable({ id: ['n', 't'] })
      expect(await catalog.describeTransaction({ id: [transaction_id!] })).toEqual({
        status: 'Succeeded',
        properties: {
          id: transaction_id,
          operation: 'DeclareTable',
          subject: 'n$t',
          created_at: '2026-02-03T04:05:06.007Z',
          finished_at: '2026-02-03T04:05:06.007Z',
        },
      })
    })

    it('every change has a record as soon as its answer is there', async () => {
      const catalog = await open()
      const made: [string, string][] = []
      const record = async (
        operation: string,
        answer: Promise<{ transaction_id?: string | string[] | undefined }>,
      ) => {
        const { transaction_id } = await answer
        made.push([operation, [transaction_id].flat()[0]!])
      }
      await record('CreateNamespace', catalog.createNamespace({ id: ['n'] }))
      await record('CreateTable', catalog.createTable({ id, data: numbered(3) }))
      await record('DeclareTable', catalog.declareTable({ id: ['d'] }))
      await record('CreateTable', catalog.createTable({ id: ['d'], data: numbered(3) }))
      await record('InsertIntoTable', catalog.insertIntoTable({ id, data: numbered(1) }))
      await record('DeleteFromTable', catalog.deleteFromTable({ id, predicate: 'n = 1' }))
      await record('UpdateTableSchemaMetadata', catalog.updateTableSchemaMetadata({ id, metadata: {} }))
      const new_columns = [{ name: 'more', expression: '1' }]
      await record('AlterTableAddColumns', catalog.alterTableAddColumns({ id, new_columns }))
      const alterations = [{ path: 'more', rename: 'other' }]
      await record('AlterTableAlterColumns', catalog.alterTableAlterColumns({ id, alterations }))
      await record('AlterTableDropColumns', catalog.alterTableDropColumns({ id, columns: ['other'] }))
      const updates = [{ path: 'n', metadata: { a: 'b' } }]
      await record('UpdateFieldMetadata', catalog.updateFieldMetadata({ id, updates }))
      await record('RestoreTable', catalog.restoreTable({ id, version: 1 }))
      await record('CreateTableTag', catalog.createTableTag({ id, tag: 'x', version: 1 }))
      await record('UpdateTableTag', catalog.updateTableTag({ id, tag: 'x', version: 2 }))
      await record('DeleteTableTag', catalog.deleteTableTag({ id, tag: 'x' }))
      await record('CreateTableBranch', catalog.createTableBranch({ id, name: 'dev' }))
      await record('DeleteTableBranch', catalog.deleteTableBranch({ id, name: 'dev' }))
      await record('RenameTable', catalog.renameTable({ id: ['d'], new_table_name: 'e' }))
      await record(
        'BatchDeleteTableVersions',
        catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: 2 }] }),
      )
      await record(
        'CreateTableVersion',
        catalog.createTableVersion({ id: ['e'], version: 2, manifest_path: 'm' }),
      )
      await record('DeregisterTable', catalog.deregisterTable({ id: ['e'] }))
      await record('RegisterTable', catalog.registerTable({ id: ['f'], location: 's3://bucket/f' }))
      await record('DropTable', catalog.dropTable({ id: ['f'] }))
      await record(
        'BatchCommitTables',
        catalog.batchCommitTables({ operations: [{ declare_table: { id: ['g'] } }] }),
      )
      await record('DropNamespace', catalog.dropNamespace({ id: ['n'] }))
      for (const [operation, transaction] of made) {
        expect(await catalog.describeTransaction({ id: [transaction] })).toMatchObject({
          status: 'Succeeded',
          properties: { operation, id: transaction },
        })
      }
      expect(made.map(([, transaction]) => transaction)).toEqual(
        made.map(([, transaction]) => transaction).sort(),
      )
    })

    it('takes the id alone, or last after the identifier of its table', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      const { transaction_id } = await catalog.declareTable({ id: ['n', 't'] })
      for (const before of [[], ['n', 't']]) {
        expect(await catalog.describeTransaction({ id: [...before, transaction_id!] })).toMatchObject({
          status: 'Succeeded',
        })
      }
      for (const before of [['n'], ['t'], ['n', 'u'], ['n', 't', 'x']]) {
        await fails(
          catalog.describeTransaction({ id: [...before, transaction_id!] }),
          'TransactionNotFound',
          `of ${before.join('$')}`,
        )
      }
    })

    it('is found by the name its table has now, and not by that of another table', async () => {
      const catalog = await open()
      const found = (table: string, transaction: string | undefined) =>
        catalog.describeTransaction({ id: [table, transaction!] })
      const declared = (await catalog.declareTable({ id })).transaction_id
      const inserted = (await catalog.insertIntoTable({ id, data: numbered(1) })).transaction_id
      const tagged = (await catalog.createTableTag({ id, tag: 'x', version: 1 })).transaction_id
      await catalog.declareTable({ id: ['other'] })
      const renamed = (await catalog.renameTable({ id, new_table_name: 'u' })).transaction_id
      for (const transaction of [declared, inserted, tagged, renamed]) {
        await found('u', transaction)
        // Nothing else has the old name yet.
        await found('t', transaction)
        await fails(found('other', transaction), 'TransactionNotFound', 'of other')
      }
      const created = (await catalog.createTable({ id, data: numbered(1) })).transaction_id
      await found('t', created)
      await fails(found('t', renamed), 'TransactionNotFound', 'of t')
      await fails(found('u', created), 'TransactionNotFound', 'of u')
      await fails(
        catalog.alterTransaction({
          id: ['u', created!],
          actions: [{ setPropertyAction: { key: 'a', value: 'b' } }],
        }),
        'TransactionNotFound',
        'of u',
      )
    })

    it('is found by the name its namespace has; that of a batch by those of the tables that it changed', async () => {
      const catalog = await open()
      const made = (await catalog.createNamespace({ id: ['n'] })).transaction_id!
      await catalog.createNamespace({ id: ['m'] })
      await catalog.describeTransaction({ id: ['n', made] })
      await fails(catalog.describeTransaction({ id: ['m', made] }), 'TransactionNotFound', 'of m')
      const { transaction_id } = await catalog.batchCommitTables({
        operations: [{ declare_table: { id: ['n', 't'] } }, { declare_table: { id: ['m', 't'] } }],
      })
      for (const name of ['n', 'm']) await catalog.describeTransaction({ id: [name, 't', transaction_id!] })
      await catalog.describeTransaction({ id: [transaction_id!] })
      await catalog.declareTable({ id: ['other'] })
      for (const name of ['other', 'never', 'n']) {
        const request = { id: [name, transaction_id!] }
        await fails(catalog.describeTransaction(request), 'TransactionNotFound', `of ${name}`)
        const actions = [{ setPropertyAction: { key: 'a', value: 'b' } }]
        await fails(catalog.alterTransaction({ ...request, actions }), 'TransactionNotFound', `of ${name}`)
      }
      await catalog.renameTable({ id: ['m', 't'], new_table_name: 'u' })
      await catalog.describeTransaction({ id: ['m', 'u', transaction_id!] })
      await catalog.dropNamespace({ id: ['n'], behavior: 'Cascade' })
      await catalog.describeTransaction({ id: ['n', made] })
      await catalog.createNamespace({ id: ['n'] })
      await fails(catalog.describeTransaction({ id: ['n', made] }), 'TransactionNotFound', 'of n')
    })

    it('fails for an id it does not know', async () => {
      const catalog = await open()
      for (const unknown of ['x', '__proto__', '01M7WD23HXSQAFYYJM8CKKHQT4', '\u{1F6EB}']) {
        await fails(
          catalog.describeTransaction({ id: [unknown] }),
          'TransactionNotFound',
          unknown,
          'check the',
        )
      }
      await fails(catalog.describeTransaction({ id: [] }), 'InvalidInput', 'id is empty', 'transaction_id')
      await fails(catalog.describeTransaction({ id: 'x' } as never), 'InvalidInput', 'id must be a list')
    })

    it('a change that was refused leaves no record that says Succeeded', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(2) })
      const seen: string[] = []
      await fails(
        catalog.deleteFromTable(
          { id, predicate: 'no_such_column = 1' },
          { onProgress: ({ transaction_id }) => seen.push(transaction_id!) },
        ),
        'InvalidInput',
        'no_such_column',
      )
      for (const transaction of seen) expect(await status(catalog, transaction)).toBe('Failed')
    })
  })

  // What tells how far work is does not travel over HTTP.
  describe('long work', () => {
    const rows = numbered(50_000)

    /** Starts an insert and waits until it is at work. */
    async function working(catalog: LocalCatalog) {
      let began: (transaction: string) => void
      const transaction = new Promise<string>((resolve) => {
        began = resolve
      })
      const progress: { rows: number; total: number; transaction_id?: string }[] = []
      const abort = new AbortController()
      const done = catalog.insertIntoTable(
        { id, data: rows },
        {
          signal: abort.signal,
          onProgress: (report) => {
            progress.push(report)
            began(report.transaction_id!)
          },
        },
      )
      done.catch(() => {})
      return {
        done,
        transaction: await Promise.race([transaction, done.then(() => 'too late')]),
        progress,
        abort,
      }
    }

    it.skipIf(open.remote)(
      'is Running while rows are written and Succeeded once they are there, telling how far it is',
      async () => {
        const catalog = await open()
        await catalog.createTable({ id, data: numbered(1) })
        const seen: Promise<string>[] = []
        const reports: { rows: number; total: number }[] = []
        const { transaction_id } = await catalog.insertIntoTable(
          { id, data: rows },
          {
            onProgress: ({ transaction_id, ...report }) => {
              reports.push(report)
              seen.push(status(catalog, transaction_id!))
            },
          },
        )
        expect((await Promise.all(seen))[0]).toBe('Running')
        expect(await status(catalog, transaction_id!)).toBe('Succeeded')
        expect(reports.at(-1)).toEqual({ rows: rows.length, total: rows.length })
        expect(reports.map((report) => report.rows)).toEqual(
          reports.map((report) => report.rows).sort((a, b) => a - b),
        )
      },
    )

    it.skipIf(open.remote)(
      'that is canceled from inside commits nothing, and its record says Canceled',
      async () => {
        const catalog = await open()
        await catalog.createTable({ id, data: numbered(1) })
        const { done, transaction } = await working(catalog)
        expect(await catalog.alterTransaction(cancel(transaction))).toMatchObject({
          status: 'Canceled',
          properties: { operation: 'InsertIntoTable' },
        })
        await fails(done, 'ConcurrentModification', transaction, 'canceled', 'Start the operation again')
        expect(await status(catalog, transaction)).toBe('Canceled')
        expect(await countOf(catalog, id)).toBe(1)
        expect((await catalog.listTableVersions({ id })).versions).toHaveLength(1)
      },
    )

    it.skipIf(open.remote)(
      'that is aborted rejects with the signal’s reason, and its record says Canceled',
      async () => {
        const catalog = await open()
        await catalog.createTable({ id, data: numbered(1) })
        const { done, transaction, abort } = await working(catalog)
        const reason = new Error('enough')
        abort.abort(reason)
        await expect(done).rejects.toBe(reason)
        expect(await status(catalog, transaction)).toBe('Canceled')
        expect(await countOf(catalog, id)).toBe(1)
      },
    )

    it.skipIf(open.remote)(
      'whose process was silent for too long counts as Failed, and its late commit is refused',
      async () => {
        const now = stoppedClock()
        const catalog = await open({ now })
        await catalog.createTable({ id, data: numbered(1) })
        const { done, transaction } = await working(catalog)
        now.move(10 * 60_000)
        expect(await catalog.describeTransaction({ id: [transaction] })).toMatchObject({
          status: 'Failed',
          properties: { failure: expect.stringContaining('process that ran it ended') },
        })
        await fails(done, 'ConcurrentModification', transaction, 'is Failed', 'Start the operation again')
        expect(await status(catalog, transaction)).toBe('Failed')
        expect(await countOf(catalog, id)).toBe(1)
      },
    )

    it.skipIf(open.remote)('that fails says why in its record', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(1) })
      const { done, transaction } = await working(catalog)
      await catalog.dropTable({ id })
      await fails(done, 'TableNotFound', 'no table t')
      expect(await catalog.describeTransaction({ id: [transaction] })).toMatchObject({
        status: 'Failed',
        properties: { failure: expect.stringContaining('no table t'), failure_code: 'TableNotFound' },
      })
    })

    it.skipIf(open.remote)('goes on when its table is renamed meanwhile', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(1) })
      const { done } = await working(catalog)
      await catalog.renameTable({ id, new_table_name: 'u' })
      expect(await done).toMatchObject({ version: 2 })
      expect(await countOf(catalog, ['u'])).toBe(rows.length + 1)
    })
  })

  describe('an AbortSignal', () => {
    it('that fired before stops every operation before it does anything', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(2) })
      const reason = new Error('enough')
      const options = { signal: AbortSignal.abort(reason) }
      for (const attempt of [
        () => catalog.createNamespace({ id: ['n'] }, options),
        () => catalog.declareTable({ id: ['u'] }, options),
        () => catalog.createTable({ id: ['u'], data: numbered(1) }, options),
        () => catalog.deleteFromTable({ id, predicate: 'true' }, options),
        () => catalog.countTableRows({ id, predicate: 'true' }, options),
        () => catalog.queryTable({ id }, options),
        () => catalog.listAllTables({}, options),
        () => catalog.batchCommitTables({ operations: [{ declare_table: { id: ['u'] } }] }, options),
      ]) {
        await expect(attempt()).rejects.toBe(reason)
      }
      expect(await catalog.listAllTables({})).toEqual({ tables: ['t'] })
      expect(await countOf(catalog, id)).toBe(2)
    })

    it.skipIf(open.remote)('stops a scan under way', async () => {
      const catalog = await open()
      for (let i = 0; i < 3; i++) {
        const data = numbered(20_000)
        await (i === 0 ? catalog.createTable({ id, data }) : catalog.insertIntoTable({ id, data }))
      }
      const reason = new Error('enough')
      for (const scan of [
        (options: object) => catalog.countTableRows({ id, predicate: 'n * 2 > 7' }, options),
        (options: object) => catalog.queryTable({ id, filter: 'n * 2 > 7' }, options),
        (options: object) => catalog.deleteFromTable({ id, predicate: 'n * 2 > 7' }, options),
      ]) {
        const abort = new AbortController()
        const done = scan({ signal: abort.signal, onProgress: () => abort.abort(reason) })
        await expect(done).rejects.toBe(reason)
      }
      expect(await countOf(catalog, id)).toBe(60_000)
    })
  })

  describe('alterTransaction', () => {
    async function finished() {
      const catalog = await open()
      const { transaction_id } = await catalog.declareTable({ id })
      return { catalog, transaction: transaction_id! }
    }
    const set = (key: string, value: string, mode?: string) => ({ setPropertyAction: { key, value, mode } })
    const unset = (key: string, mode?: string) => ({ unsetPropertyAction: { key, mode } })
    const own = async (catalog: LocalCatalog, transaction: string) => {
      const { properties } = await catalog.describeTransaction({ id: [transaction] })
      const { id: _, operation, subject, created_at, finished_at, ...rest } = properties
      return rest
    }

    it('sets and unsets properties; what the record says of itself stays beside them', async () => {
      const { catalog, transaction } = await finished()
      const answer = await catalog.alterTransaction({
        id: [transaction],
        actions: [set('a', '1'), set('b', '2'), set('__proto__', 'p'), unset('a')],
      })
      expect(answer.status).toBe('Succeeded')
      expect(answer.properties).toMatchObject({ b: '2', operation: 'DeclareTable' })
      const properties = await own(catalog, transaction)
      expect(Object.entries(properties).sort()).toEqual([
        ['__proto__', 'p'],
        ['b', '2'],
      ])
    })

    it('modes: Overwrite by default, Skip keeps, Fail refuses; unset skips by default', async () => {
      const { catalog, transaction } = await finished()
      const alter = (...actions: object[]) =>
        catalog.alterTransaction({ id: [transaction], actions } as never)
      await alter(set('a', '1'))
      await alter(set('a', '2'))
      expect(await own(catalog, transaction)).toEqual({ a: '2' })
      await alter(set('a', '3', 'skip'), set('b', '1', 'Skip'), set('c', '1', 'FAIL'))
      expect(await own(catalog, transaction)).toEqual({ a: '2', b: '1', c: '1' })
      await fails(
        alter(set('a', '3', 'Fail')),
        'ConcurrentModification',
        '"a" is set already',
        'mode Overwrite',
      )
      await alter(unset('none'), unset('none', 'Skip'))
      await fails(alter(unset('none', 'Fail')), 'InvalidInput', '"none" is not set', 'mode Skip')
      expect(await own(catalog, transaction)).toEqual({ a: '2', b: '1', c: '1' })
    })

    it('does all actions or none', async () => {
      const { catalog, transaction } = await finished()
      await fails(
        catalog.alterTransaction({
          id: [transaction],
          actions: [set('a', '1'), { setStatusAction: { status: 'Canceled' } }],
        }),
        'ConcurrentModification',
        'is Succeeded and stays so',
      )
      expect(await own(catalog, transaction)).toEqual({})
    })

    it('a finished transaction keeps its status; setting the one it has changes nothing', async () => {
      const { catalog, transaction } = await finished()
      for (const given of ['Queued', 'Running', 'Failed', 'CANCELED']) {
        await fails(
          catalog.alterTransaction({ id: [transaction], actions: [{ setStatusAction: { status: given } }] }),
          'ConcurrentModification',
          'is Succeeded and stays so',
          'Start the operation again',
        )
      }
      for (const given of ['Succeeded', 'succeeded', 'SUCCEEDED']) {
        expect(
          await catalog.alterTransaction({
            id: [transaction],
            actions: [{ setStatusAction: { status: given } }],
          }),
        ).toMatchObject({ status: 'Succeeded' })
      }
    })

    it('statuses are read in any case, PascalCase or snake_case, and others refused', async () => {
      const { catalog, transaction } = await finished()
      for (const given of ['Done', '', 'cancelled ', 7, null]) {
        await fails(
          catalog.alterTransaction({
            id: [transaction],
            actions: [{ setStatusAction: { status: given } }],
          } as never),
          'InvalidInput',
          'actions[0].setStatusAction.status must be',
        )
      }
    })

    it.skipIf(open.remote)('at work a transaction can become Canceled only', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(1) })
      let refusal: Promise<unknown> | undefined
      await catalog.insertIntoTable(
        { id, data: numbered(20_000) },
        {
          onProgress: ({ transaction_id }) => {
            refusal ??= fails(
              catalog.alterTransaction({
                id: [transaction_id!],
                actions: [{ setStatusAction: { status: 'succeeded' } }],
              }),
              'InvalidInput',
              'Canceled only',
            )
          },
        },
      )
      expect(refusal).toBeDefined()
      await refusal
    })

    it('refuses what the record says of itself, too much text, and malformed actions', async () => {
      const { catalog, transaction } = await finished()
      const alter = (actions: unknown) => () =>
        catalog.alterTransaction({ id: [transaction], actions } as never)
      for (const key of [
        'id',
        'operation',
        'subject',
        'created_at',
        'finished_at',
        'failure',
        'failure_code',
      ]) {
        await refuses(catalog, alter([set(key, 'x')]), 'InvalidInput', `"${key}"`, 'choose another key')
        await refuses(catalog, alter([unset(key)]), 'InvalidInput', `"${key}"`, 'choose another key')
      }
      await refuses(
        catalog,
        alter([set('a', 'x'.repeat(70_000))]),
        'InvalidInput',
        '65536 bytes',
        'unset some',
      )
      for (const [actions, message] of [
        [[], 'actions is empty'],
        ['x', 'actions must be a list'],
        [[{}], 'exactly one of'],
        [[{ ...set('a', '1'), ...unset('a') }], 'exactly one of'],
        [[{ setPropertyAction: { key: 'a' } }], 'actions[0].setPropertyAction.value is missing'],
        [[set('a', '1', 'Sometimes')], 'mode must be Overwrite, Fail or Skip'],
      ] as const) {
        await refuses(catalog, alter(actions), 'InvalidInput', message)
      }
      expect(await own(catalog, transaction)).toEqual({})
    })
  })

  describe('records', () => {
    const declareMany = async (catalog: LocalCatalog, from: number, count: number) => {
      const made = await Promise.all(
        Array.from({ length: count }, (_, i) => catalog.createNamespace({ id: [`n${from + i}`] })),
      )
      return made.map(({ transaction_id }) => transaction_id!)
    }
    const kept = async (catalog: LocalCatalog, ids: readonly string[]) => {
      const found = await Promise.allSettled(ids.map((transaction) => status(catalog, transaction)))
      return found.filter((outcome) => outcome.status === 'fulfilled').length
    }

    it('are cleared some time after they are past their age, and not before', async () => {
      const now = stoppedClock()
      const catalog = await open({ now, transactionAge: 60_000, transactionCount: 1_000 })
      const old = await declareMany(catalog, 0, 150)
      now.move(60_000)
      const young = await declareMany(catalog, 150, 50)
      expect(await kept(catalog, old)).toBe(150)
      now.move(1)
      young.push(...(await declareMany(catalog, 200, 50)))
      await expect.poll(() => kept(catalog, old)).toBe(0)
      expect(await kept(catalog, young)).toBe(100)
    })

    it('are cleared when there are more than are kept, the oldest first', async () => {
      const catalog = await open({ transactionCount: 100 })
      const made: string[] = []
      for (let at = 0; at < 400; at += 100) made.push(...(await declareMany(catalog, at, 100)))
      await expect.poll(() => kept(catalog, made)).toBeLessThan(120)
      expect(await kept(catalog, made.slice(-100))).toBe(100)
    })
  })
})

describe('work beyond what runs at once', () => {
  /** A catalog in which writing manifests waits until the gate is opened. */
  async function gated() {
    let open = () => {}
    let gate: Promise<void> = Promise.resolve()
    const content = memoryContent()
    const ids: string[] = []
    const next = idSource(Date.now)
    const catalog = await openCatalog({
      store: memoryStore(),
      content: contentWith(content, {
        put: async (path, bytes) => {
          if (path.includes('/_versions/')) await gate
          await content.put(path, bytes)
        },
      }),
      concurrency: 1,
      newId: () => {
        ids.push(next())
        return ids.at(-1)!
      },
    })
    await catalog.createTable({ id, data: numbered(1) })
    await catalog.createTable({ id: ['other'], data: numbered(1) })
    gate = new Promise((resolve) => {
      open = resolve
    })
    const statuses = async () => {
      const found = await Promise.allSettled(ids.map((transaction) => status(catalog, transaction)))
      return found.flatMap((outcome, i) =>
        outcome.status === 'fulfilled' ? [[ids[i]!, outcome.value] as const] : [],
      )
    }
    const withStatus = async (wanted: string) => {
      await expect.poll(async () => (await statuses()).some(([, found]) => found === wanted)).toBe(true)
      return (await statuses()).find(([, found]) => found === wanted)![0]
    }
    return { catalog, content, open: () => open(), withStatus }
  }

  it('is Queued, then Running, then Succeeded', async () => {
    const { catalog, open, withStatus } = await gated()
    const first = catalog.insertIntoTable({ id, data: numbered(2) })
    const running = await withStatus('Running')
    const second = catalog.insertIntoTable({ id: ['other'], data: numbered(3) })
    const queued = await withStatus('Queued')
    open()
    expect(await first).toMatchObject({ transaction_id: running })
    expect(await second).toMatchObject({ transaction_id: queued, version: 2 })
    expect(await status(catalog, queued)).toBe('Succeeded')
  })

  it('can be canceled while it is Queued, and then never begins', async () => {
    const { catalog, open, withStatus } = await gated()
    const first = catalog.insertIntoTable({ id, data: numbered(2) })
    await withStatus('Running')
    const second = catalog.insertIntoTable({ id: ['other'], data: numbered(3) })
    const queued = await withStatus('Queued')
    await catalog.alterTransaction(cancel(queued))
    // It does not wait for its turn to learn of it.
    await fails(second, 'ConcurrentModification', queued, 'was canceled')
    open()
    await first
    expect(await status(catalog, queued)).toBe('Canceled')
    expect(await countOf(catalog, ['other'])).toBe(1)
    expect(await catalog.insertIntoTable({ id: ['other'], data: numbered(3) })).toMatchObject({ version: 2 })
  })

  it('can be aborted while it is Queued', async () => {
    const { catalog, open, withStatus } = await gated()
    const first = catalog.insertIntoTable({ id, data: numbered(2) })
    await withStatus('Running')
    const abort = new AbortController()
    const second = catalog.insertIntoTable({ id: ['other'], data: numbered(3) }, { signal: abort.signal })
    const queued = await withStatus('Queued')
    const reason = new Error('enough')
    abort.abort(reason)
    await expect(second).rejects.toBe(reason)
    expect(await status(catalog, queued)).toBe('Canceled')
    open()
    await first
    expect(await countOf(catalog, ['other'])).toBe(1)
  })

  it('begins while other work only waits for its commit', async () => {
    let isGated = false
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const store = memoryStore()
    const content = memoryContent()
    const slow: Store = {
      features: store.features,
      read: (body) => store.read(body),
      write: async (body) => {
        if (isGated) await gate
        return store.write(body)
      },
      close: () => store.close(),
    }
    const catalog = await openCatalog({ store: slow, content, concurrency: 1 })
    const made = [id, ['other'], ['third']]
    for (const table of made) await catalog.createTable({ id: table, data: numbered(1) })
    const before = (await pathsOf(content)).length
    isGated = true
    const changes = made.map((table) => catalog.insertIntoTable({ id: table, data: numbered(2) }))
    // Each writes a file of rows and a manifest.
    await expect.poll(async () => (await pathsOf(content)).length).toBe(before + 2 * made.length)
    open()
    for (const { version } of await Promise.all(changes)) expect(version).toBe(2)
  })

  it('vacuum leaves alone what work under way has written', async () => {
    const { catalog, content, open, withStatus } = await gated()
    const before = (await pathsOf(content)).length
    const first = catalog.insertIntoTable({ id, data: numbered(2) })
    await withStatus('Running')
    await expect.poll(async () => (await pathsOf(content)).length).toBeGreaterThan(before)
    expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ removed: 0 })
    open()
    await first
    expect(await rowsOf(catalog, id)).toHaveLength(3)
  })
})

describe('from a second handle on the same directory', () => {
  it('a transaction at work can be seen and canceled, and then commits nothing', async () => {
    const folder = await freshFolder()
    const kept = memoryContent()
    let canceled: Promise<unknown> | undefined
    // What writes waits for who cancels it.
    const content = contentWith(kept, {
      put: (...given) => Promise.resolve(canceled).then(() => kept.put(...given)),
    })
    const open = async () =>
      closedAfterwards(
        await openCatalog({ store: await openLmdbStore(folder), content, root: 's3://bucket' }),
      )
    const one = await open()
    const two = await open()
    await one.createTable({ id, data: numbered(1) })
    const cancelOnceSeen = async (transaction: string) => {
      await expect.poll(() => status(two, transaction)).toBe('Running')
      await two.alterTransaction(cancel(transaction))
    }
    const done = one.insertIntoTable(
      { id, data: numbered(1_000) },
      {
        onProgress: ({ transaction_id }) => {
          canceled ??= cancelOnceSeen(transaction_id!)
        },
      },
    )
    await fails(done, 'ConcurrentModification', 'was canceled', 'Start the operation again')
    await canceled
    expect(await countOf(two, id)).toBe(1)
  })

  it('can be found as soon as it is told of', async () => {
    const store = memoryStore()
    const late: Store = {
      features: store.features,
      read: (body) => store.read(body),
      // A slow database: whoever is informed before the write finds nothing.
      write: (body) => sleep(20).then(() => store.write(body)),
      close: () => store.close(),
    }
    const catalog = closedAfterwards(await openCatalog({ store: late, content: memoryContent() }))
    const seen: Promise<string>[] = []
    await catalog.createTable(
      { id, data: numbered(3) },
      { onProgress: ({ transaction_id }) => seen.push(status(catalog, transaction_id!)) },
    )
    expect(new Set(await Promise.all(seen))).toEqual(new Set(['Running']))
  })
})

describe('on a store that fails', () => {
  /** Rejections that nobody heard of while `work` ran. Each of them would have ended the process. */
  async function unheard(work: () => Promise<unknown>): Promise<unknown[]> {
    const heard: unknown[] = []
    const others = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', (reason) => heard.push(reason))
    try {
      await work()
      // Nothing may come of it. A rejection is reported at the end of a turn of the event loop.
      await turns()
    } finally {
      process.removeAllListeners('unhandledRejection')
      for (const other of others) process.on('unhandledRejection', other)
    }
    return heard
  }

  it('each of many writers gets the error, those that waited their turn too', async () => {
    const store = memoryStore()
    let isFull = false
    const failing: Store = {
      features: store.features,
      read: (body) => store.read(body),
      write: async (body) => {
        // As long as a sync of a disk takes: the work has begun by then.
        if (isFull) await sleep(5)
        if (isFull) throw new CatalogError('ServiceUnavailable', 'The disk is full. Free some space.')
        return store.write(body)
      },
      close: () => store.close(),
    }
    const catalog = closedAfterwards(
      await openCatalog({ store: failing, content: memoryContent(), concurrency: 2 }),
    )
    await catalog.createTable({ id, data: numbered(3) })
    for (const onProgress of [undefined, () => {}]) {
      isFull = true
      let failed: PromiseSettledResult<unknown>[] = []
      const lost = await unheard(async () => {
        failed = await Promise.allSettled(
          Array.from({ length: 12 }, () =>
            catalog.insertIntoTable({ id, data: numbered(1) }, { onProgress }),
          ),
        )
      })
      expect(lost).toEqual([])
      for (const result of failed) {
        expect(result).toMatchObject({ status: 'rejected', reason: { code: 'ServiceUnavailable' } })
      }
      isFull = false
      await catalog.insertIntoTable({ id, data: numbered(1) })
    }
    expect(await countOf(catalog, id)).toBe(5)
  })
})
