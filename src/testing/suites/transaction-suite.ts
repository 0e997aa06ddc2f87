import { randomBytes } from 'node:crypto'
import { type Runner, register } from './suite.ts'
import { atomic } from './transaction/atomic.ts'
import { handles } from './transaction/handles.ts'
import { isolated } from './transaction/isolated.ts'
import type { TransactionsUnderTest, TransactionTrial } from './transaction/trial.ts'

export type { TransactionsUnderTest }

export interface TransactionSuiteOptions {
  /** The name of the group of cases. Default: `transactions`. */
  readonly name?: string
}

export const transactionTopics = [atomic, isolated, handles] as const

/**
 * Registers the cases that transactions over many operations must pass. Each case works in its own namespace and drops
 * it at the end, so `open` may return the same catalog each time. The catalog is closed after the case.
 *
 * ```ts
 * import { describe, test } from 'vitest'
 * import { transactionSuite } from 'tabularium/testing'
 *
 * transactionSuite({ describe, test }, () => openCatalog({ store: myStore(), content: myContent() }))
 * ```
 */
export function transactionSuite(
  runner: Runner,
  open: () => TransactionsUnderTest | Promise<TransactionsUnderTest>,
  options: TransactionSuiteOptions = {},
): void {
  const { name = 'transactions' } = options
  register<TransactionTrial>(runner, name, transactionTopics, async (body) => {
    const catalog = await open()
    const home = [`suite-${randomBytes(6).toString('hex')}`]
    try {
      await catalog.createNamespace({ id: [...home] })
      await body({ catalog, id: (...names) => [...home, ...names] })
      await catalog.dropNamespace({ id: [...home], behavior: 'Cascade' })
    } finally {
      await catalog.close?.()
    }
  })
}
