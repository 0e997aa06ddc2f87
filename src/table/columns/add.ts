import type { Field } from '@uwdata/flechette'
import { type AnyBatch, byteLength } from '../../arrow/batch.ts'
import { allRows } from '../../arrow/bitmap.ts'
import { assemble, wholeOf } from '../../arrow/take/take.ts'
import { typeName } from '../../arrow/type-name.ts'
import { invalid } from '../../errors.ts'
import type { ValueExpression, ValueOptions } from '../../predicate/index.ts'
import type { TimeSlice } from '../../scheduling/time-slice.ts'
import type { FragmentRows } from '../read/fragment-read.ts'
import { compileValues, evaluateValues } from '../scan/expression.ts'
import { rowNumbers } from '../scan/row-columns.ts'
import type { NewColumn } from '../table-engine.ts'
import type { ColumnWork, EditColumns } from './column-change.ts'
import { checkNames, idsFrom, treeOfSchema } from './edits.ts'
import { type FieldNode, idsOf, treeOf } from './field-tree.ts'

/** Bytes of texts and lists that are computed at a time. */
const sliceBytes = 16 << 20

/** Most bytes of a column in one fragment. All of them are in memory when it is written, and when it is read. */
const mostBytes = 512 << 20

interface Computed {
  readonly node: FieldNode
  readonly text: string
  readonly expression: ValueExpression
}

/**
 * Adds columns: with the values of expressions, which all see the columns before, or null in all rows. `now` is the
 * time that `now()` stands for.
 */
export function addColumns(columns: readonly NewColumn[], now: number): EditColumns {
  return async (schema, timeSlice) => {
    const { tree, nextId } = treeOfSchema(schema)
    const ids = idsFrom(nextId)
    const added: FieldNode[] = []
    const computed: Computed[] = []
    for (const column of columns) {
      if ('field' in column) {
        added.push(...treeOf([nullField(column.field)], ids))
        continue
      }
      const expression = await compileValues(column.expression, schema, now, timeSlice)
      if (expression.columns.some((index) => index >= schema.fields.length)) {
        throw invalid(
          `The expression of column ${JSON.stringify(column.name)} reads row ids or places, which differ from version to version. Compute it of columns of the table.`,
        )
      }
      const { type, nullable } = expression
      const [node] = treeOf([{ name: column.name, type, nullable, metadata: noMetadata }], ids)
      added.push(node!)
      computed.push({ node: node!, text: column.expression, expression })
    }
    const edited = [...tree, ...added]
    checkNames(edited, tree)
    const work = computed.length === 0 ? undefined : workOf(tree, computed)
    return { tree: edited, nextId: ids.next().value, work }
  }
}

// Flechette's types do not allow what it reads and writes.
const noMetadata = null as unknown as Map<string, string>

function nullField(field: Field): Field {
  if (field.nullable) return field
  throw invalid(
    `Column ${JSON.stringify(field.name)} would be null in every row, and must not be null. Make it nullable, or give an expression.`,
  )
}

function workOf(tree: readonly FieldNode[], computed: readonly Computed[]): ColumnWork {
  const budgets = new Map(computed.map(({ expression }) => [expression, expression.budget()]))
  const reads = [...new Set(computed.flatMap(({ expression }) => expression.columns))]
  const sources = reads.map((index) => idsOf([tree[index]!]).join())
  return {
    key: [...computed.map(({ text, expression }) => `${typeName(expression.type)} ${text}`), ...sources].join(
      '\n',
    ),
    reads,
    writes: computed.map(({ node }) => node),
    compute: async (rows, firstRow, timeSlice) => {
      const batches: AnyBatch[] = []
      for (const { node, expression } of computed) {
        const options = { numberOf: rowNumbers(firstRow, undefined), budget: budgets.get(expression)! }
        batches.push(await evaluate(node, expression, rows, timeSlice, options))
      }
      return batches
    },
  }
}

/** The values of an expression for all rows of a fragment, computed slice by slice. */
async function evaluate(
  { field }: FieldNode,
  expression: ValueExpression,
  rows: FragmentRows,
  timeSlice: TimeSlice,
  options: ValueOptions,
): Promise<AnyBatch> {
  const slices: AnyBatch[] = []
  let bytes = 0
  for (let start = 0; start < rows.length || slices.length === 0; ) {
    const slice = await evaluateFrom(start, expression, rows, timeSlice, options)
    slices.push(slice)
    start += slice.length
    bytes += byteLength(slice)
    if (bytes > mostBytes) throw tooLong(field)
    if (timeSlice.due) await timeSlice.rest()
  }
  try {
    return assemble(field.type, slices.map(wholeOf))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw tooLong(field, error)
  }
}

/** The values of all rows from `start` on; of fewer, when they take many bytes. */
function evaluateFrom(
  start: number,
  expression: ValueExpression,
  rows: FragmentRows,
  timeSlice: TimeSlice,
  options: ValueOptions,
): Promise<AnyBatch> {
  const bounded = { ...options, mostBytes: sliceBytes }
  if (start === 0) return evaluateValues(expression, rows, timeSlice, bounded)
  // Evaluation begins at a multiple of 32.
  const first = start & ~31
  const live = allRows(rows.length - first)
  live[0]! &= -1 << (start & 31)
  return evaluateValues(expression, rows, timeSlice, { ...bounded, live }, first)
}

function tooLong({ name }: Field, cause?: unknown): Error {
  return invalid(
    `The values of column ${JSON.stringify(name)} are too long: in one fragment, which is a file of its own, they take more than ${mostBytes.toLocaleString('en')} bytes. Compute shorter values, or add the column without values and then update it: updated rows are written in as many fragments as they need.`,
    { cause },
  )
}
