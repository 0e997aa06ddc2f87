import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@lancedb/lancedb'
import { tableFromIPC as read, type Table, tableToIPC } from '@uwdata/flechette'
import { tableFromIPC } from 'apache-arrow'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AnyBatch } from '../../../src/arrow/batch.ts'
import { CatalogError } from '../../../src/errors.ts'
import { scalarAt } from '../../../src/predicate/evaluate/scalar.ts'
import { compileExpression } from '../../../src/predicate/index.ts'
import type { Scalar } from '../../../src/predicate/plan/plan.ts'
import { expressions } from './expressions.ts'
import { randomTable } from './rows.ts'

const runs = Number(process.env.PREDICATE_RUNS ?? 600)
const seed = Number(process.env.PREDICATE_SEED ?? 20_240_229)

// The reference's tables are of this instance of the library.
const { tableToIPC: write } = createRequire(import.meta.url)('apache-arrow') as typeof import('apache-arrow')

type Answer = { readonly values: readonly unknown[]; readonly type: number } | { readonly error: string }

it('computes random expressions as the reference does', async () => {
  const table = randomTable(seed + 3, 40)
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-expressions-'))
  const database = await connect(directory)
  const opened = await database.createTable('t', tableFromIPC(tableToIPC(table, { format: 'file' })!))
  try {
    // To the reference a name in double quotes is a text in a computed column, and a name in a predicate.
    const asked = [...new Set(fc.sample(expressions, { seed, numRuns: runs }))].filter(
      (text) => !text.includes('"'),
    )
    const differences: string[] = []
    const ask = async () => {
      for (let text = asked.pop(); text !== undefined; text = asked.pop()) {
        const found = ours(table, text)
        let expected: Answer
        try {
          const answer = await opened.query().select({ id: 'id', r: text }).toArrow()
          expected = answerOf(
            read(write(answer as never, 'file'), { useBigInt: true }).getChild('r').data as never,
          )
        } catch (error) {
          // The library cannot read views of texts.
          if (/Unrecognized type/.test((error as Error).message)) continue
          expected = { error: (error as Error).message }
        }
        if (!agree(expected, found))
          differences.push(`${text}\n  reference: ${show(expected)}\n  ours:      ${show(found)}`)
      }
    }
    await Promise.all([ask(), ask()])
    differences.sort((a, b) => a.length - b.length)
    expect(differences.slice(0, 30).join('\n'), `${differences.length} differ`).toBe('')
  } finally {
    opened.close()
    database.close()
    await rm(directory, { recursive: true })
  }
}, 300_000)

/** Columns that values are assigned to. */
const targets = ['i8', 'i', 'big', 'u8', 'f', 'f32', 's', 'b', 'd', 'ts', 'tsm', 'dec', 'tags', 'li']

it('assigns random expressions as the reference does, or refuses what loses something', async () => {
  const table = randomTable(seed + 4, 6)
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-assigned-'))
  const database = await connect(directory)
  const data = tableToIPC(table, { format: 'file' })!
  const differences: string[] = []
  try {
    const texts = fc.sample(expressions, { seed: seed + 1, numRuns: Math.ceil(runs / 5) })
    for (const [i, text] of texts.entries()) {
      if (text.includes('"')) continue
      const name = targets[i % targets.length]!
      const found = ours(table, text, name)
      let expected: Answer
      const opened = await database.createTable(`t${i}`, tableFromIPC(data))
      try {
        await opened.update({ valuesSql: { [name]: text } })
        const answer = await opened.query().select([name]).toArrow()
        expected = answerOf(
          read(write(answer as never, 'file'), { useBigInt: true }).getChild(name).data as never,
        )
      } catch (error) {
        expected = { error: (error as Error).message }
      } finally {
        opened.close()
      }
      // A number is cut there, and a value that is no list becomes a list of one.
      const isStricter =
        'error' in found &&
        /does not fit|takes arrays of exactly|for column "\w+" of type list.*cannot be converted/.test(
          found.error,
        )
      if (!isStricter && !agree(expected, found))
        differences.push(`${name} = ${text}\n  reference: ${show(expected)}\n  ours:      ${show(found)}`)
    }
    differences.sort((a, b) => a.length - b.length)
    expect(differences.slice(0, 30).join('\n'), `${differences.length} differ`).toBe('')
  } finally {
    database.close()
    await rm(directory, { recursive: true })
  }
}, 300_000)

function ours(table: Table, text: string, target?: string): Answer {
  const aim = table.schema.fields.find(({ name }) => name === target)
  try {
    const rows = { length: table.numRows, columns: table.children.map((column) => column.data[0]) }
    return answerOf([
      compileExpression(text, table.schema, undefined, aim).values(rows as never, 0, table.numRows),
    ])
  } catch (error) {
    if (error instanceof CatalogError && error.code === 'InvalidInput') return { error: error.message }
    throw error
  }
}

function answerOf(batches: readonly AnyBatch[]): Answer {
  const values = batches.flatMap((batch) =>
    Array.from({ length: batch.length }, (_, i) => plain(scalarAt(batch, i))),
  )
  return { values, type: batches[0]!.type.typeId }
}

function plain(value: Scalar): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (value instanceof Uint8Array) return [...value]
  if (value !== null && typeof value === 'object')
    return JSON.parse(JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `${v}` : v)))
  return typeof value === 'bigint' ? `${value}` : value
}

function agree(a: Answer, b: Answer): boolean {
  if ('error' in a || 'error' in b) return 'error' in a && 'error' in b
  return JSON.stringify(a.values, numbers) === JSON.stringify(b.values, numbers)
}

const numbers = (_: string, value: unknown) =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value

function show(answer: Answer): string {
  return 'error' in answer
    ? answer.error.slice(0, 300)
    : `${answer.type} ${JSON.stringify(answer.values, numbers).slice(0, 300)}`
}
