import type { Table } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { typeName } from '../../../src/arrow/type-name.ts'
import { CatalogError } from '../../../src/errors.ts'
import { select } from '../table.ts'
import { predicates } from './grammar.ts'
import { type Answer, openReference } from './reference.ts'
import { randomTable } from './rows.ts'

/** How many predicates each table is asked; more, or others, when run by hand. */
const runs = Number(process.env.PREDICATE_RUNS ?? 1_200)
const seed = Number(process.env.PREDICATE_SEED ?? 20_240_229)

it.each([1, 2])(
  'answers random predicates as the reference does (table %i)',
  async (number) => {
    const table = randomTable(seed + number, 40)
    await using reference = await openReference(table)
    const asked = [...new Set(fc.sample(predicates, { seed: seed * 10 + number, numRuns: runs }))]
    const differences: string[] = []
    const ask = async () => {
      for (let predicate = asked.pop(); predicate !== undefined; predicate = asked.pop()) {
        const expected = await reference.ask(predicate)
        const found = ours(table, predicate)
        if (!agree(expected, found)) differences.push(describe(table, predicate, expected, found))
      }
    }
    await Promise.all([ask(), ask(), ask(), ask()])
    differences.sort((a, b) => a.length - b.length)
    expect(differences.slice(0, 40).join('\n'), `${differences.length} differ`).toBe('')
  },
  runs * 50 + 240_000,
)

function ours(table: Table, predicate: string): Answer {
  try {
    return { ids: select(table, predicate) }
  } catch (error) {
    if (error instanceof CatalogError && error.code === 'InvalidInput') return { error: error.message }
    throw error
  }
}

function agree(a: Answer, b: Answer): boolean {
  if ('error' in a || 'error' in b) return 'error' in a && 'error' in b
  return a.ids.join() === b.ids.join()
}

/** A difference, with all it takes to look into it. */
function describe(table: Table, predicate: string, expected: Answer, found: Answer): string {
  const show = (answer: Answer) => ('error' in answer ? answer.error.slice(0, 300) : `rows ${answer.ids}`)
  const named = table.schema.fields.filter(({ name }) => new RegExp(`\\b${name}\\b`, 'i').test(predicate))
  const lines = [predicate, `  reference: ${show(expected)}`, `  ours:      ${show(found)}`]
  lines.push(`  schema:    ${named.map(({ name, type }) => `${name} ${typeName(type)}`).join(', ')}`)
  if ('ids' in expected && 'ids' in found) {
    const differing = [...expected.ids, ...found.ids].filter(
      (id) => expected.ids.includes(id) !== found.ids.includes(id),
    )
    for (const row of differing.slice(0, 5)) {
      const cells = named.map(({ name }) => `${name} = ${showCell(table.getChild(name).at(row))}`)
      lines.push(`  row ${row}:   ${cells.join(', ')}`)
    }
  }
  return lines.join('\n')
}

function showCell(value: unknown): string {
  if (Object.is(value, -0)) return '-0'
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part)) ?? 'undefined'
}
