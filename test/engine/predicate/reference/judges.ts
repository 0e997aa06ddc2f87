import type { Table } from '@uwdata/flechette'
import fc from 'fast-check'
import { CatalogError } from '../../../../src/base/errors.ts'
import { typeName } from '../../../../src/engine/arrow/type-name.ts'
import { compileExpression } from '../../../../src/engine/predicate/index.ts'
import { planPredicate } from '../../../../src/engine/predicate/plan/filter.ts'
import { isTrue } from '../evaluate/interpret.ts'
import { select } from '../table.ts'
import { cellsOf } from './cells.ts'
import { ownColumns } from './columns.ts'
import { byLength, type Difference, kindOf } from './difference.ts'
import { predicates } from './grammar.ts'
import { isKnown } from './known.ts'
import { Maker } from './maker.ts'
import { type Answer, openReference, type Reference } from './reference.ts'
import { randomTable, withRandom } from './rows.ts'
import { type Comparison, comparison } from './typed.ts'

/*
 * Who judges what the generator draws: the reference, the plain interpreter, and the same term as a column of its own.
 */

/** Where the reference answers random predicates otherwise than we do, with all it takes to look into it. */
export function differencesToReference(seed: number, runs: number): Promise<Difference[]> {
  return differencesToReferenceOf(seed, fc.sample(predicates, { seed: seed * 10, numRuns: runs }))
}

/** The same of these predicates, over the table of a seed. */
export async function differencesToReferenceOf(
  seed: number,
  texts: readonly string[],
  isMeant: (
    text: string,
    expected: Answer,
    found: Answer,
    reference: Reference,
  ) => Promise<boolean> = async () => false,
): Promise<Difference[]> {
  const table = randomTable(seed, 40)
  await using reference = await openReference(table)
  const asked = [...new Set(texts)]
  const differences: Difference[] = []
  const ask = async () => {
    for (let predicate = asked.pop(); predicate !== undefined; predicate = asked.pop()) {
      const expected = await reference.ask(predicate)
      const found = ours(table, predicate)
      if (agree(expected, found) || isKnown(predicate, expected, found, table)) continue
      if (!(await isMeant(predicate, expected, found, reference)))
        differences.push({
          kind: kindOf(expected, found),
          text: describe(table, predicate, 'reference', expected, found),
        })
    }
  }
  await Promise.all([ask(), ask(), ask(), ask()])
  return byLength(differences)
}

const comparisons: fc.Arbitrary<Comparison> = fc.gen().map((draw) => comparison(new Maker(draw), true))

/** Where random comparisons mean something else to the interpreter, or once their term is a column. */
export function differencesAmongUs(seed: number, runs: number): Difference[] {
  return differencesAmongUsOf(seed, fc.sample(comparisons, { seed, numRuns: runs }))
}

/** The same of these comparisons, over the table of a seed. */
export function differencesAmongUsOf(seed: number, asked: readonly Comparison[]): Difference[] {
  const table = withRandom(randomTable(seed, 40), seed, ownColumns)
  const differences: Difference[] = []
  for (const drawn of asked) {
    const predicate = drawn.of(drawn.term.text)
    const found = ours(table, predicate)
    const judges = { interpreter: interpreted(table, predicate), column: materialized(table, drawn) }
    for (const [judge, expected] of Object.entries(judges)) {
      // What fails in a column may be spared in a comparison.
      const isSpared = judge === 'column' && (expected === undefined || 'error' in expected)
      // A bound of NULL spares the other one where the value is a column, and can be copied.
      const isSparedInColumn =
        judge === 'column' && 'error' in found && /BETWEEN (?:NULL AND|.* AND NULL)/.test(predicate)
      if (!isSpared && !isSparedInColumn && !agree(expected!, found))
        // What one of our ways refuses and another one answers is wrong, too.
        differences.push({ kind: 'answer', text: describe(table, predicate, judge, expected!, found) })
    }
  }
  return byLength(differences)
}

function interpreted(table: Table, predicate: string): Answer {
  return answerOf(() => {
    const plan = planPredicate(predicate, table.schema)
    const cells = cellsOf(table)
    return Array.from({ length: table.numRows }, (_, row) => row).filter((row) => isTrue(plan, cells(row)))
  })
}

/** The same predicate of a column that has the term's values; undefined where it means something else. */
function materialized(table: Table, { term, of }: Comparison): Answer | undefined {
  if (!term.isExact || /^[\w.]+$/.test(term.text)) return undefined
  return answerOf(() => {
    const rows = { length: table.numRows, columns: table.children.map((column) => column.data[0]) }
    const expression = compileExpression(term.text, table.schema)
    const values = expression.values(rows as never, 0, table.numRows)
    const field = { name: 'materialized', type: expression.type, nullable: true, metadata: new Map() }
    const schema = { ...table.schema, fields: [...table.schema.fields, field] }
    const whole = { numRows: table.numRows, schema, children: [...table.children, { data: [values] }] }
    // Within NOT, a literal beside a column may be of another type, as it may beside a term.
    return select(whole as never, `NOT (NOT (${of('materialized')}))`)
  })
}

function ours(table: Table, predicate: string): Answer {
  return answerOf(() => select(table, predicate))
}

function answerOf(ask: () => readonly number[]): Answer {
  try {
    return { ids: ask() }
  } catch (error) {
    if (error instanceof CatalogError && error.code === 'InvalidInput') return { error: error.message }
    throw error
  }
}

/** Whether two answers are the same rows, or both are refusals. */
export function agree(a: Answer, b: Answer): boolean {
  if ('error' in a || 'error' in b) return 'error' in a && 'error' in b
  return a.ids.join() === b.ids.join()
}

/** A difference, with all it takes to look into it. */
function describe(table: Table, predicate: string, judge: string, expected: Answer, found: Answer): string {
  const show = (answer: Answer) => ('error' in answer ? answer.error.slice(0, 300) : `rows ${answer.ids}`)
  const named = table.schema.fields.filter(({ name }) => new RegExp(`\\b${name}\\b`, 'i').test(predicate))
  const lines = [predicate, `  ${`${judge}:`.padEnd(12)} ${show(expected)}`, `  ours:        ${show(found)}`]
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
