import { type DataType, Precision, type Schema, type Table, Type } from '@uwdata/flechette'
import { invalid, unsupported } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { indexOfName } from '../../arrow/field-names.ts'
import { typeName } from '../../arrow/type-name.ts'
import { matchSome } from './schema-match.ts'

/** Most keys, and most values of all key columns but the last: an engine reads the text into a tree. */
const mostKeys = 10_000
const mostGroups = 100

/**
 * A predicate for the rows of a table with the keys of given rows, for an engine that finds rows by predicates alone.
 * Undefined where no key has a value in each of its columns: nothing equals null.
 */
export function keyPredicate(rows: Table, schema: Schema, on: readonly string[]): string | undefined {
  const columns = matchSome(rows, schema)
  const keys = on.map((name) => {
    const at = indexOfName(schema.fields, name)
    if (at < 0 || columns[at] === undefined) {
      throw invalid(`The rows have no column ${quote(name)} to be matched by, or it lies within another one.`)
    }
    const { data } = columns[at]
    const { type } = schema.fields[at]!
    const literal = literalOf(name, type)
    return data.flatMap((batch) =>
      Array.from(batch, (value) => (value === null ? undefined : literal(value))),
    )
  })
  const groups = new Map<string, Set<string>>()
  for (let row = 0; row < rows.numRows; row++) {
    const key = keys.map((column) => column[row])
    if (key.includes(undefined)) continue
    const before = key.slice(0, -1).map((value, i) => `${named(on[i]!)} = ${value}`)
    const group = before.join(' AND ')
    groups.set(group, (groups.get(group) ?? new Set()).add(key.at(-1)!))
  }
  if (groups.size === 0) return undefined
  requireFew(groups)
  const last = named(on.at(-1)!)
  const texts = Array.from(groups, ([before, values]) => {
    const among = `${last} IN (${[...values].join(', ')})`
    return before === '' ? among : `(${before} AND ${among})`
  })
  return texts.join(' OR ')
}

function requireFew(groups: ReadonlyMap<string, ReadonlySet<string>>): void {
  let count = 0
  for (const values of groups.values()) count += values.size
  if (count <= mostKeys && groups.size <= mostGroups) return
  throw unsupported(
    `One merge deletes rows by at most ${mostKeys.toLocaleString('en')} keys, and ${mostGroups} values of the columns before the last one, and these are ${count.toLocaleString('en')} and ${groups.size.toLocaleString('en')}.`,
    'Merge them in parts.',
  )
}

const named = (column: string) => `\`${column.replaceAll('`', '``')}\``

function doubleLiteral(column: string, value: number): string {
  if (Number.isFinite(value)) return `CAST('${value}' AS DOUBLE)`
  throw unsupported(
    `Rows of Lance are not deleted by the key ${value} of ${quote(column)}.`,
    'Delete them by a predicate.',
  )
}

/** How values of a type are written in a predicate. */
function literalOf(column: string, type: DataType): (value: unknown) => string {
  switch (type.typeId) {
    case Type.Int:
    case Type.Bool:
      return String
    case Type.Utf8:
    case Type.LargeUtf8:
      return (value) => `'${String(value).replaceAll("'", "''")}'`
    case Type.Float:
      if (type.precision === Precision.DOUBLE) return (value) => doubleLiteral(column, value as number)
  }
  throw unsupported(
    `Rows of Lance are deleted by keys that are integers, doubles, texts or booleans, and ${quote(column)} is ${typeName(type)}.`,
    'Delete them by a predicate.',
  )
}
