import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countsOf, type RowChanges, rowChangesOf } from '../../src/page/model/row-changes.ts'
import { decodeRows } from '../../src/page/model/rows.ts'
import { openCatalog } from '../../src/tabularium/index.ts'

/*
 * What the page shows of `tableChanges`, beside an oracle that compares the rows of both versions by their key. Values
 * are such that a careless comparison mixes them up.
 */

const value = fc.constantFrom(null, '', 'null', 'x', '1', '["1n"]')
const amount = fc.constantFrom(null, 0, -0, 1, 2 ** 53)
const table = fc.uniqueArray(fc.record({ key: fc.integer({ min: 1, max: 12 }), value, amount }), {
  selector: ({ key }) => key,
  minLength: 1,
  maxLength: 12,
})

type Rows = readonly { readonly key: number; readonly value: string | null; readonly amount: number | null }[]

/** What changed, as texts: whether a row has another value is asked column by column. */
function oracle(before: Rows, after: Rows): string[] {
  const [old, now] = [before, after].map((rows) => new Map(rows.map((row) => [row.key, row])))
  const changes: string[] = []
  for (const row of after) {
    const earlier = old!.get(row.key)
    if (earlier === undefined) changes.push(`inserted ${row.key}`)
    else {
      const changed = [Object.is(earlier.value, row.value), Object.is(earlier.amount, row.amount)]
      if (changed.includes(false)) changes.push(`updated ${row.key} ${changed.map((is) => !is)}`)
    }
  }
  for (const row of before) if (!now!.has(row.key)) changes.push(`deleted ${row.key}`)
  return changes.sort()
}

function texts({ columns, changes }: RowChanges): string[] {
  const at = (name: string) => columns.indexOf(name)
  return changes.map(({ kind, before, after, changed }) => {
    const key = (after ?? before)![at('key')]
    if (kind !== 'updated') return `${kind} ${key}`
    const isWhole = before !== undefined && after !== undefined
    return `updated ${key} ${isWhole ? [changed[at('value')], changed[at('amount')]] : '?'}`
  })
}

const schema = { key: 0, value: '', amount: 0 }

describe('rows that differ', () => {
  it('are shown as what changed, all of them or the first of each version', async () => {
    await using catalog = await openCatalog('memory:')
    let tables = 0
    await fc.assert(
      fc.asyncProperty(table, table, fc.integer({ min: 1, max: 12 }), async (before, after, limit) => {
        const id = [`t${++tables}`]
        // A first version with all types, since columns of nulls have none.
        await catalog.createTable({ id, data: [schema] })
        await catalog.deleteFromTable({ id, predicate: 'true' })
        const { version: from } = await catalog.insertIntoTable({ id, data: before })
        await catalog.deleteFromTable({ id, predicate: 'true' })
        const { version: to } = await catalog.insertIntoTable({ id, data: after })
        const ask = async (one: number, other: number, most: number) =>
          decodeRows((await catalog.tableChanges({ id, from: one, to: other, on: 'key', limit: most })).data)
        const expected = oracle(before, after)
        const whole = rowChangesOf(await ask(from!, to!, 1_000), undefined, ['key'], 1_000)
        expect(texts(whole).sort()).toEqual(expected)
        expect(whole.isCut).toBe(false)
        const counts = countsOf(whole)
        expect(counts.updated + counts.inserted + counts.deleted).toBe(expected.length)

        const answer = await ask(from!, to!, limit + 1)
        if (answer.rows.length <= limit) return
        const cut = rowChangesOf(answer, await ask(to!, from!, limit + 1), ['key'], limit)
        expect(cut.isCut).toBe(true)
        expect(cut.changes.filter(({ before }) => before).length).toBeLessThanOrEqual(limit)
        expect(cut.changes.filter(({ after }) => after).length).toBeLessThanOrEqual(limit)
        // What is known of one side only is said of neither value.
        for (const text of texts(cut)) {
          const known = text.endsWith('?')
            ? expected.some((all) => all.startsWith(text.slice(0, -1)))
            : expected.includes(text)
          expect(known, text).toBe(true)
        }
      }),
      { numRuns: 15 },
    )
  })
})
