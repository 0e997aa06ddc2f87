import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@lancedb/lancedb'
import { tableFromIPC as read, type Table, tableToIPC } from '@uwdata/flechette'
import { tableFromIPC } from 'apache-arrow'
import fc from 'fast-check'
import { CatalogError } from '../../../../src/base/errors.ts'
import type { AnyBatch } from '../../../../src/engine/arrow/batch.ts'
import { typeName } from '../../../../src/engine/arrow/type-name.ts'
import { scalarAt } from '../../../../src/engine/predicate/evaluate/scalar.ts'
import { compileExpression } from '../../../../src/engine/predicate/index.ts'
import type { Scalar } from '../../../../src/engine/predicate/plan/plan.ts'
import { logicalType } from '../../../../src/engine/predicate/plan/types.ts'
import { byLength, type Difference, kindOf } from './difference.ts'
import { expressions } from './expressions.ts'
import { isKnown } from './known.ts'
import { randomTable } from './rows.ts'

// The reference's tables are of this instance of the library.
const { tableToIPC: write } = createRequire(import.meta.url)('apache-arrow') as typeof import('apache-arrow')

/** The values of an expression and their type, or why there are none. */
export type Values =
  | { readonly values: readonly unknown[]; readonly type: string }
  | { readonly error: string }

/** Where the reference computes random expressions otherwise than we do. */
export function valueDifferences(seed: number, runs: number): Promise<Difference[]> {
  return valueDifferencesOf(seed, fc.sample(expressions, { seed, numRuns: runs }))
}

/** Where the reference computes these expressions otherwise than we do, over the table of a seed. */
export async function valueDifferencesOf(seed: number, texts: readonly string[]): Promise<Difference[]> {
  const table = randomTable(seed, 40)
  await using both = await openBoth(table)
  const differences: Difference[] = []
  // To the reference a name in double quotes is a text in a computed column, and a name in a predicate.
  const asked = [...new Set(texts)].filter((text) => !text.includes('"'))
  const ask = async () => {
    for (let text = asked.pop(); text !== undefined; text = asked.pop()) {
      const { expected, found } = await answersOf(both, text)
      // The library cannot read views of texts, long durations, and columns of no type.
      if ('error' in expected && /Unrecognized type|BigInt exceeds|Cannot read prop/.test(expected.error))
        continue
      if (!agree(expected, found) && !isKnown(text, expected, found, table))
        differences.push(difference(text, expected, found))
    }
  }
  await Promise.all([ask(), ask()])
  return byLength(differences)
}

/** A table in the hands of the reference and in ours. */
export interface Both extends AsyncDisposable {
  readonly table: Table
  readonly theirs: { query(): { select(columns: Record<string, string>): { toArrow(): Promise<unknown> } } }
}

/** Gives a table, which has a column `id`, to the reference. */
export async function openBoth(table: Table): Promise<Both> {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-expressions-'))
  const database = await connect(directory)
  const theirs = await database.createTable('t', tableFromIPC(tableToIPC(table, { format: 'file' })!))
  return {
    table,
    theirs,
    async [Symbol.asyncDispose]() {
      theirs.close()
      database.close()
      await rm(directory, { recursive: true })
    },
  }
}

/** The values of an expression, as each side computes them. */
export async function answersOf(
  { table, theirs }: Both,
  text: string,
): Promise<{ readonly expected: Values; readonly found: Values }> {
  const found = computed(table, text)
  const expected = await answered(() => theirs.query().select({ id: 'id', r: text }).toArrow(), 'r')
  return { expected, found }
}

/** What the reference answers, as a column of its table of Arrow has it. */
export async function answered(ask: () => Promise<unknown>, name: string): Promise<Values> {
  try {
    return valuesOf(
      read(write((await ask()) as never, 'file'), { useBigInt: true }).getChild(name).data as never,
    )
  } catch (error) {
    return { error: (error as Error).message }
  }
}

/** What we compute, for all rows. With a target, it is what an assignment to that column gives. */
export function computed(table: Table, text: string, target?: string): Values {
  const aim = table.schema.fields.find(({ name }) => name === target)
  try {
    const rows = { length: table.numRows, columns: table.children.map((column) => column.data[0]) }
    return valuesOf([
      compileExpression(text, table.schema, undefined, aim).values(rows as never, 0, table.numRows),
    ])
  } catch (error) {
    if (error instanceof CatalogError && error.code === 'InvalidInput') return { error: error.message }
    throw error
  }
}

function valuesOf(batches: readonly AnyBatch[]): Values {
  const values = batches.flatMap((batch) =>
    Array.from({ length: batch.length }, (_, i) => plain(scalarAt(batch, i))),
  )
  return { values, type: typeName(logicalType(batches[0]!.type)) }
}

function plain(value: Scalar): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (value instanceof Uint8Array) return [...value]
  if (value !== null && typeof value === 'object')
    return JSON.parse(JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `${v}` : v)))
  return typeof value === 'bigint' ? `${value}` : value
}

/** Whether both have the same values of the same type, or an error. */
export function agree(a: Values, b: Values): boolean {
  if ('error' in a || 'error' in b) return 'error' in a && 'error' in b
  // What is assigned has the type of its column.
  return a.type === b.type && JSON.stringify(a.values, numbers) === JSON.stringify(b.values, numbers)
}

const numbers = (_: string, value: unknown) =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value

/** A difference of the values of what was asked. */
export function difference(what: string, expected: Values, found: Values): Difference {
  const text = `${what}\n  reference: ${show(expected)}\n  ours:      ${show(found)}`
  return { kind: kindOf(expected, found), text }
}

function show(answer: Values): string {
  return 'error' in answer
    ? answer.error.slice(0, 300)
    : `${answer.type} ${JSON.stringify(answer.values, numbers).slice(0, 300)}`
}
