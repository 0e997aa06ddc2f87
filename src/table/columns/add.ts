import type { Field } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import { assemble, wholeOf } from '../../arrow/take/take.ts'
import { typeName } from '../../arrow/type-name.ts'
import { invalid } from '../../errors.ts'
import type { ValueExpression } from '../../predicate/index.ts'
import type { TimeSlice } from '../../scheduling/time-slice.ts'
import type { FragmentRows } from '../read/fragment-read.ts'
import { compileValues, evaluateValues } from '../scan/expression.ts'
import { rowNumbers } from '../scan/row-columns.ts'
import type { NewColumn } from '../table-engine.ts'
import type { ColumnWork, EditColumns } from './column-change.ts'
import { checkNames, idsFrom, treeOfSchema } from './edits.ts'
import { type FieldNode, idsOf, treeOf } from './field-tree.ts'

/** Rows that are computed at a time. */
const sliceRows = 65_536

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
  options: NonNullable<Parameters<typeof evaluateValues>[3]>,
): Promise<AnyBatch> {
  const slices: AnyBatch[] = []
  for (let start = 0; start < rows.length || slices.length === 0; start += sliceRows) {
    const end = Math.min(start + sliceRows, rows.length)
    slices.push(await evaluateValues(expression, rows, timeSlice, options, start, end))
    if (timeSlice.due) await timeSlice.rest()
  }
  try {
    return assemble(field.type, slices.map(wholeOf))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw invalid(
      `The values of column ${JSON.stringify(field.name)} are too long for one fragment: its texts or lists have more than 2^31 bytes or items. Compute shorter values, or optimize the table to smaller fragments.`,
      { cause: error },
    )
  }
}
