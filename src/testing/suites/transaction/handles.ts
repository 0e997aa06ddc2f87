import assert from 'node:assert/strict'
import type { Transaction } from '../../../catalog/index.ts'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { count, names, type TransactionTrial, withRows } from './trial.ts'

const source = 'LocalCatalog.transaction'

/** The record of a transaction, and the lifetime of its handle. */
export const handles: Topic<TransactionTrial> = {
  name: 'records and handles',
  cases: [
    rule(
      'tx.record',
      source,
      'A transaction is described as Running, then as Succeeded or Failed; so is each of its operations.',
      [],
      async ({ catalog, id }: TransactionTrial) => {
        const status = async (one: string) => (await catalog.describeTransaction({ id: [one] })).status
        const ids = await catalog.transaction(
          async (tx) => {
            const { transaction_id } = await tx.declareTable({ id: id('a') })
            assert.equal(await status(tx.transactionId), 'Running')
            return [tx.transactionId, transaction_id!]
          },
          // With a listener, the function waits for the record of its transaction.
          { onProgress: () => {} },
        )
        assert.deepEqual(await Promise.all(ids.map(status)), ['Succeeded', 'Succeeded'])
        let failed = ''
        const failing = catalog.transaction(async (tx) => {
          failed = tx.transactionId
          throw new RangeError('no')
        })
        await assert.rejects(failing, RangeError)
        assert.equal(await status(failed), 'Failed')
      },
    ),
    rule(
      'tx.cancel',
      source,
      'A transaction that is canceled while it runs commits nothing.',
      [],
      async ({ catalog, id }: TransactionTrial) => {
        let one = ''
        const canceled = catalog.transaction(
          async (tx) => {
            one = tx.transactionId
            await tx.declareTable({ id: id('a') })
            const actions = [{ setStatusAction: { status: 'Canceled' as const } }]
            await catalog.alterTransaction({ id: [one], actions })
            await tx.declareTable({ id: id('b') })
          },
          { onProgress: () => {} },
        )
        await refused(canceled, 'ConcurrentModification', /cancel/i)
        assert.deepEqual(await names(catalog, id()), [])
        assert.equal((await catalog.describeTransaction({ id: [one] })).status, 'Canceled')
      },
    ),
    rule(
      'tx.signal',
      source,
      'A signal stops a transaction with its reason, and nothing is committed.',
      [],
      async ({ catalog, id }: TransactionTrial) => {
        const stop = new AbortController()
        const reason = new RangeError('enough')
        const stopped = catalog.transaction(
          async (tx) => {
            await tx.declareTable({ id: id('a') })
            stop.abort(reason)
            // Never ends by itself.
            await new Promise(() => {})
          },
          { signal: stop.signal },
        )
        await assert.rejects(stopped, (error) => error === reason)
        assert.deepEqual(await names(catalog, id()), [])
      },
    ),
    rule(
      'tx.ended',
      source,
      'A handle refuses everything once its transaction has ended.',
      [],
      async ({ catalog, id }: TransactionTrial) => {
        const kept: Transaction[] = []
        await catalog.transaction(async (tx) => {
          kept.push(tx)
        })
        const failing = catalog.transaction(async (tx) => {
          kept.push(tx)
          throw new RangeError('no')
        })
        await assert.rejects(failing, RangeError)
        for (const tx of kept) {
          await refused(tx.declareTable({ id: id('a') }), 'InvalidInput', /ended/)
          await refused(tx.listTables({ id: id() }), 'InvalidInput', /ended/)
        }
        assert.deepEqual(await names(catalog, id()), [])
      },
    ),
    rule(
      'tx.unawaited',
      source,
      'A function that returns while one of its operations still runs commits nothing.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a')
        const hasty = catalog.transaction(async (tx) => {
          await tx.declareTable({ id: id('b') })
          void tx.insertIntoTable({ id: id('a'), data: [{ k: 3 }] })
        })
        await refused(hasty, 'InvalidInput', /insertIntoTable/)
        assert.deepEqual(await names(catalog, id()), ['a'])
        assert.equal(await count(catalog, id('a')), 2)
      },
    ),
    rule(
      'tx.nested',
      source,
      'A transaction within a transaction is refused.',
      [],
      async ({ catalog, id }: TransactionTrial) => {
        await catalog.transaction(async (tx) => {
          const { transaction } = tx as unknown as typeof catalog
          await refused(
            transaction(async (inner) => inner.declareTable({ id: id('a') })),
            'Unsupported',
          )
          await tx.declareTable({ id: id('b') })
        })
        assert.deepEqual(await names(catalog, id()), ['b'])
      },
    ),
    rule(
      'tx.misused',
      source,
      'What is no function, and options that make no sense, are InvalidInput.',
      [],
      async ({ catalog }: TransactionTrial) => {
        const attempts = [
          () => catalog.transaction(undefined as never),
          () => catalog.transaction(async () => {}, { attempts: 0 }),
          () => catalog.transaction(async () => {}, { attempts: 1.5 }),
          () => catalog.transaction(async () => {}, { retries: 3 } as never),
        ]
        for (const attempt of attempts) await refused(attempt, 'InvalidInput')
      },
    ),
  ],
}
