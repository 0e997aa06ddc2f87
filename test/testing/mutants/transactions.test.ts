import { describe, expect, test } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { type TransactionsUnderTest, transactionSuite } from '../../../src/testing/index.ts'
import { limitEach } from '../../support/time-limit.ts'
import { collect, failureOf } from './run-cases.ts'
import { brokenTransactions } from './transactions.ts'

// The suite of transactions runs until it notices each mutant.
limitEach(120)

const casesOf = (open: () => Promise<TransactionsUnderTest>) =>
  collect((runner) => transactionSuite(runner, open))
const sound = casesOf(() => openCatalog('memory:'))

describe('the suite of transactions notices a catalog that', () => {
  test.each(brokenTransactions)('%s, by %s', async (_name, rule, open) => {
    expect(await failureOf(sound, rule)).toBeUndefined()
    expect(await failureOf(casesOf(open), rule)).toContain(`${rule} (`)
  })

  test('has a mutant for each rule', () => {
    const noticed = new Set(brokenTransactions.map(([, rule]) => rule))
    expect([...sound.keys()].filter((rule) => !noticed.has(rule))).toEqual([])
  })
})
