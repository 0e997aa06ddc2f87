import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { count, counted, interruption, names, type TransactionTrial, together, withRows } from './trial.ts'

const source = 'LocalCatalog.transaction'

/** Concurrent changes. */
export const isolated: Topic<TransactionTrial> = {
  name: 'others at the same time',
  cases: [
    rule(
      'tx.moment',
      source,
      'All that a transaction reads is of one moment.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a', 'b')
        const others = interruption(() =>
          catalog.transaction(async (tx) => {
            for (const name of ['a', 'b']) await tx.insertIntoTable({ id: id(name), data: [{ k: 3 }] })
          }),
        )
        const seen: string[] = []
        await catalog.transaction(async (tx) => {
          const a = await count(tx, id('a'))
          await others()
          seen.push(`${a} ${await count(tx, id('b'))}`)
        })
        assert.deepEqual(seen, ['3 3'])
      },
    ),
    rule(
      'tx.skew',
      source,
      'Two transactions that each read what the other one changes do not both commit what they read.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a', 'b')
        // Each empties one table if the other one still has rows: write skew.
        const empty = (mine: string, other: string) =>
          counted(async (tx) => {
            if ((await count(tx, id(other))) === 0) return
            await tx.deleteFromTable({ id: id(mine), predicate: 'k > 0' })
          })
        const [one, two] = [empty('a', 'b'), empty('b', 'a')]
        await together(catalog, one.work, two.work)
        assert.equal((await count(catalog, id('a'))) + (await count(catalog, id('b'))), 2)
        assert.equal(one.runs + two.runs, 3)
      },
    ),
    rule(
      'tx.read-committed',
      source,
      'With the isolation ReadCommitted, what the function read may change. What its changes looked at may not.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a', 'b')
        await catalog.createNamespace({ id: id('n') })
        const insert = interruption(() => catalog.insertIntoTable({ id: id('a'), data: [{ k: 3 }] }))
        const drop = interruption(() => catalog.dropNamespace({ id: id('n') }))
        const seen: number[] = []
        const reading = counted(async (tx) => {
          seen.push(await count(tx, id('a')))
          await insert()
          seen.push(await count(tx, id('a')))
          await tx.insertIntoTable({ id: id('b'), data: [{ k: 3 }] })
          seen.push(await count(tx, id('b')))
        })
        await catalog.transaction(reading.work, { isolation: 'ReadCommitted' })
        assert.deepEqual([reading.runs, seen], [1, [2, 3, 3]])
        assert.equal(await count(catalog, id('b')), 3)
        const declaring = catalog.transaction(
          async (tx) => {
            await tx.declareTable({ id: id('n', 't') })
            await drop()
          },
          { isolation: 'ReadCommitted' },
        )
        await refused(declaring, 'NamespaceNotFound')
      },
    ),
    rule(
      'tx.lost-update',
      source,
      'Of transactions that read and then replace the same thing, each builds on the one before.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a')
        const add = async () => {
          await catalog.transaction(async (tx) => {
            const rows = await count(tx, id('a'))
            await tx.insertIntoTable({
              id: id('a'),
              mode: 'Overwrite',
              data: Array.from({ length: rows + 1 }, (_, k) => ({ k })),
            })
          })
        }
        await Promise.all([add(), add(), add(), add()])
        assert.equal(await count(catalog, id('a')), 6)
      },
    ),
    rule(
      'tx.phantom',
      source,
      'A listing counts as read: a name that others add makes the function run again.',
      [],
      async ({ catalog, id }: TransactionTrial) => {
        await catalog.declareTable({ id: id('a') })
        const others = interruption(() => catalog.declareTable({ id: id('b') }))
        const counting = counted(async (tx) => {
          const found = await names(tx, id())
          await others()
          await tx.declareTable({ id: id(`after-${found.length}`) })
        })
        await catalog.transaction(counting.work)
        assert.deepEqual(await names(catalog, id()), ['a', 'after-2', 'b'])
        assert.equal(counting.runs, 2)
      },
    ),
    rule(
      'tx.append',
      source,
      'Transactions that insert into the same tables all succeed, and none of them runs again.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a', 'b')
        const works = [10, 20, 30].map((n) =>
          counted(async (tx) => {
            await tx.insertIntoTable({ id: id('a'), data: [{ k: n }] })
            await tx.insertIntoTable({ id: id('b'), data: [{ k: n }] })
            await tx.insertIntoTable({ id: id('a'), data: [{ k: n + 1 }] })
          }),
        )
        await together(catalog, ...works.map(({ work }) => work))
        assert.deepEqual(
          works.map(({ runs }) => runs),
          [1, 1, 1],
        )
        assert.deepEqual([await count(catalog, id('a')), await count(catalog, id('b'))], [8, 5])
        for (const k of [10, 11, 20, 21, 30, 31]) {
          assert.equal(await count(catalog, id('a'), `k = ${k}`), 1, `rows with k = ${k}`)
        }
        const { versions } = await catalog.listTableVersions({ id: id('a') })
        assert.deepEqual(
          versions.map(({ version }) => version).sort((x, y) => x - y),
          [1, 2, 3, 4],
        )
        // The two inserts of one transaction are one version.
        for (const version of [2, 3, 4]) {
          const { count: added } = await catalog.countTableRows({ id: id('a'), version })
          assert.equal(added, 2 * version)
        }
      },
    ),
    rule(
      'tx.one-version',
      source,
      'Small inserts into one table with nothing but inserts between them are one version, which all of them name.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a', 'b')
        const named: number[] = []
        const ids: string[] = []
        await catalog.transaction(async (tx) => {
          const add = async (name: string, k: number) => {
            const { version, num_inserted_rows, transaction_id } = await tx.insertIntoTable({
              id: id(name),
              data: [{ k }],
            })
            assert.equal(num_inserted_rows, 1)
            ids.push(transaction_id!)
            if (name === 'a') named.push(version)
          }
          for (const k of [3, 4]) for (const name of ['a', 'b']) await add(name, k)
          // A read sees all rows. What follows is another version.
          assert.equal(await count(tx, id('a')), 4)
          for (const k of [5, 6, 7]) await add('a', k)
        })
        assert.deepEqual(named, [2, 2, 3, 3, 3])
        const rows = async (version: number) => (await catalog.countTableRows({ id: id('a'), version })).count
        assert.deepEqual([await rows(1), await rows(2), await rows(3)], [2, 4, 7])
        assert.equal((await catalog.listTableVersions({ id: id('a') })).versions.length, 3)
        assert.equal(await count(catalog, id('b')), 4)
        assert.equal(new Set(ids).size, 7)
        for (const one of ids)
          assert.equal((await catalog.describeTransaction({ id: [one] })).status, 'Succeeded')
      },
    ),
    rule(
      'tx.rebase',
      source,
      'Inserts, deletes and changes of metadata go on top of what others commit meanwhile, without a further run.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a')
        const others = interruption(async () => {
          await catalog.insertIntoTable({ id: id('a'), data: [{ k: 9 }] })
          await catalog.deleteFromTable({ id: id('a'), predicate: 'k = 2' })
        })
        const counting = counted(async (tx) => {
          await tx.insertIntoTable({ id: id('a'), data: [{ k: 3 }] })
          await tx.deleteFromTable({ id: id('a'), predicate: 'k = 1' })
          await tx.updateTableSchemaMetadata({ id: id('a'), metadata: { by: 'transaction' } })
          await others()
        })
        await catalog.transaction(counting.work)
        assert.equal(counting.runs, 1)
        assert.deepEqual(
          [await count(catalog, id('a')), await count(catalog, id('a'), 'k in (3, 9)')],
          [2, 2],
        )
        const { metadata, version } = await catalog.describeTable({
          id: id('a'),
          load_detailed_metadata: true,
        })
        assert.deepEqual([metadata, version], [{ by: 'transaction' }, 6])
      },
    ),
    rule(
      'tx.read-appended',
      source,
      'A function that read the table it changes runs again when others changed it.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a')
        const others = interruption(() => catalog.insertIntoTable({ id: id('a'), data: [{ k: 9 }] }))
        const seen: number[] = []
        const counting = counted(async (tx) => {
          await tx.insertIntoTable({ id: id('a'), data: [{ k: 3 }] })
          seen.push(await count(tx, id('a')))
          await others()
        })
        await catalog.transaction(counting.work)
        assert.deepEqual([seen, counting.runs], [[3, 4], 2])
        assert.equal(await count(catalog, id('a')), 4)
      },
    ),
    rule(
      'tx.told-count',
      source,
      'A delete that would remove another number of rows than it told makes the function run again.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a')
        const others = interruption(() => catalog.insertIntoTable({ id: id('a'), data: [{ k: 1 }] }))
        const told: number[] = []
        await catalog.transaction(async (tx) => {
          const answer = await tx.deleteFromTable({ id: id('a'), predicate: 'k = 1' })
          told.push(answer.num_deleted_rows!)
          await others()
        })
        assert.deepEqual(told, [1, 2])
        assert.equal(await count(catalog, id('a')), 1)
      },
    ),
    rule(
      'tx.attempts',
      source,
      'After so many runs as the caller allows, a lost race is ConcurrentModification and nothing is committed.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a', 'b')
        const counting = counted(async (tx) => {
          await count(tx, id('a'))
          await tx.insertIntoTable({ id: id('b'), data: [{ k: 3 }] })
          await catalog.insertIntoTable({ id: id('a'), data: [{ k: 3 }] })
        })
        // A third run would have a turn, which the insert that it waits for would wait for.
        await refused(catalog.transaction(counting.work, { attempts: 2 }), 'ConcurrentModification')
        assert.equal(counting.runs, 2)
        assert.deepEqual([await count(catalog, id('a')), await count(catalog, id('b'))], [4, 2])
      },
    ),
    rule(
      'tx.gone',
      source,
      'When others drop, replace or rename a table meanwhile, the function finds that in its next run.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        const attempts: readonly (() => Promise<unknown>)[] = [
          () => catalog.dropTable({ id: id('a') }),
          () => catalog.renameTable({ id: id('a'), new_table_name: 'b' }),
        ]
        for (const change of attempts) {
          await catalog.createTable({ id: id('a'), data: [{ k: 1 }], mode: 'Overwrite' })
          const others = interruption(change)
          const counting = counted(async (tx) => {
            await tx.insertIntoTable({ id: id('a'), data: [{ k: 3 }] })
            await others()
          })
          await refused(catalog.transaction(counting.work), 'TableNotFound')
          assert.equal(counting.runs, 2)
        }
        assert.deepEqual(await names(catalog, id()), ['b'])
        assert.equal(await count(catalog, id('b')), 1)
      },
    ),
  ],
}
