import assert from 'node:assert/strict'
import type { OperationMethods, Transact, Transaction } from '../../../catalog/index.ts'

/** The object under test of the suite of transactions: a local catalog, or any object with its methods. */
export type TransactionsUnderTest = OperationMethods & {
  readonly transaction: Transact
  close?(): Promise<void>
}

/** The context of a case of the suite of transactions. */
export interface TransactionTrial {
  readonly catalog: TransactionsUnderTest
  /** The identifier of a name, or of nested names, in the case's own namespace. */
  readonly id: (...names: string[]) => string[]
}

/** A handle of a catalog, or of a transaction. */
type Reading = Pick<OperationMethods, 'countTableRows' | 'listTables' | 'describeTable'>

/** Creates tables that each hold the rows `{ k: 1 }` and `{ k: 2 }`. */
export async function withRows({ catalog, id }: TransactionTrial, ...names: string[]): Promise<void> {
  for (const name of names) await catalog.createTable({ id: id(name), data: [{ k: 1 }, { k: 2 }] })
}

export async function count(on: Reading, id: string[], predicate?: string): Promise<number> {
  return Number((await on.countTableRows(predicate === undefined ? { id } : { id, predicate })).count)
}

/** The names of the tables in a namespace. */
export async function names(on: Reading, id: string[]): Promise<string[]> {
  const { tables } = await on.listTables({ id, include_declared: true })
  return tables.map((name) => name.split('$').at(-1)!)
}

/** Pauses the first run of a transaction in its middle, until others have made changes. */
export function interruption(others: () => Promise<unknown>): () => Promise<void> {
  let isFirst = true
  return async () => {
    if (!isFirst) return
    isFirst = false
    await others()
  }
}

/** Counts how often a function ran. */
export function counted<T>(work: (tx: Transaction) => Promise<T>) {
  const counting = {
    runs: 0,
    work: (tx: Transaction) => {
      counting.runs++
      return work(tx)
    },
  }
  return counting
}

/** Runs two functions as transactions, both of which have begun before either may end. */
export async function together(
  catalog: TransactionsUnderTest,
  ...works: ((tx: Transaction) => Promise<unknown>)[]
): Promise<void> {
  let waiting = works.length
  let open = () => {}
  const allBegan = new Promise<void>((resolve) => {
    open = resolve
  })
  await Promise.all(
    works.map((work) => {
      let isFirst = true
      return catalog.transaction(async (tx) => {
        await work(tx)
        if (!isFirst) return
        isFirst = false
        if (--waiting === 0) open()
        await allBegan
      })
    }),
  )
  assert.equal(waiting, 0)
}
