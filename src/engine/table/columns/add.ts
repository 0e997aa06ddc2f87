import type { Field } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { typeName } from '../../arrow/type-name.ts'
import type { ValueExpression } from '../../predicate/index.ts'
import { compileValues } from '../scan/compile.ts'
import type { NewColumn } from '../table-engine.ts'
import type { EditColumns } from './column-change.ts'
import { checkNames, idsFrom, treeOfSchema } from './edits.ts'
import { type FieldNode, idsOf, noMetadata, treeOf } from './field-tree.ts'
import type { ColumnWork } from './make-columns.ts'
import { computing } from './make-columns.ts'

interface Computed {
  readonly node: FieldNode
  readonly text: string
  readonly expression: ValueExpression
}

/**
 * Adds columns: with the values of expressions, which all see the columns before the change, or null in all rows. `now`
 * is the time that `now()` returns.
 */
export function addColumns(columns: readonly NewColumn[], now: number): EditColumns {
  return async (schema, job) => {
    const { tree, nextId } = treeOfSchema(schema)
    const ids = idsFrom(nextId)
    const added: FieldNode[] = []
    const computed: Computed[] = []
    for (const column of columns) {
      if ('field' in column) {
        added.push(...treeOf([nullField(column.field)], ids))
        continue
      }
      const expression = await compileValues(column.expression, schema, now, job)
      if (expression.columns.some((index) => index >= schema.fields.length)) {
        throw invalid(
          `The expression of column ${quote(column.name)} reads row ids or places, which differ from version to version. Compute it of columns of the table.`,
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

function nullField(field: Field): Field {
  if (field.nullable) return field
  throw invalid(
    `Column ${quote(field.name)} would be null in every row, and must not be null. Make it nullable, or give an expression.`,
  )
}

function workOf(tree: readonly FieldNode[], computed: readonly Computed[]): ColumnWork {
  const columns = computed.map(({ node, expression }) => {
    return { field: node.field, expression, budget: expression.budget() }
  })
  const source = computing(columns)
  const sources = source.reads.map((index) => idsOf([tree[index]!]).join())
  const texts = computed.map(({ text, expression }) => `${typeName(expression.type)} ${text}`)
  return {
    ...source,
    key: [...texts, ...sources].join('\n'),
    writes: computed.map(({ node }) => node),
    expressions: columns,
  }
}
