import { FieldRepetitionTypes, ParquetTypes } from 'hyparquet/src/constants.js'
import { CatalogError } from '../../../base/errors.ts'
import { damagedFile } from '../damage.ts'
import { logicalOf } from './annotations.ts'
import { natural, type Struct, textOf } from './thrift.ts'

/** A field of a Parquet schema: a leaf has values, others have children. */
export interface SchemaNode {
  readonly name: string
  /** The names from the root, quoted, for errors. */
  readonly label: string
  readonly repetition: 'REQUIRED' | 'OPTIONAL' | 'REPEATED'
  /** The definition level of a value that is there, and how many repeated fields it lies in. */
  readonly def: number
  readonly rep: number
  readonly children: readonly SchemaNode[]
  /** Below the node, itself included, in the order of column chunks. */
  readonly leaves: readonly SchemaNode[]
  /** The physical type of a leaf. */
  readonly type: string | undefined
  /** Bytes of each value of `FIXED_LEN_BYTE_ARRAY`. */
  readonly length: number
  /** Its logical type, a union: one field is set. */
  readonly logical: Struct
}

const maxDepth = 64

/** The tree of the flat list in the footer, in which the children of a field follow it. */
export function readSchemaTree(elements: readonly Struct[]): SchemaNode {
  let next = 0
  const read = (parent: Omit<SchemaNode, 'children' | 'leaves'> | undefined, depth: number): SchemaNode => {
    const element = elements[next++]
    if (element === undefined) throw damagedFile('has a schema that is cut off')
    if (depth > maxDepth) throw damagedFile(`nests columns deeper than ${maxDepth} levels`)
    const about = nodeOf(element, parent)
    const count = element.field_5 === undefined ? 0 : natural(element.field_5)
    if ((count === 0) !== (about.type !== undefined) && parent !== undefined)
      throw damagedFile(`has column ${about.label} with ${count} fields and ${about.type ?? 'no'} type`)
    const children: SchemaNode[] = []
    const names = new Set<string>()
    for (let i = 0; i < count; i++) {
      const child = read(about, depth + 1)
      if (names.has(child.name)) throw twice(child.label)
      names.add(child.name)
      children.push(child)
    }
    const node = { ...about, children, leaves: [] as SchemaNode[] }
    node.leaves = about.type === undefined ? children.flatMap((child) => child.leaves) : [node]
    return node
  }
  const root = read(undefined, 0)
  if (next !== elements.length) throw damagedFile('has a schema with fields that belong to none')
  return root
}

function nodeOf(element: Struct, parent: Pick<SchemaNode, 'label' | 'def' | 'rep'> | undefined) {
  const name = nameOf(element.field_4)
  const label = parent === undefined ? '' : `${parent.label}${parent.label && '.'}${JSON.stringify(name)}`
  const repetition = parent === undefined ? 'REQUIRED' : FieldRepetitionTypes[natural(element.field_3 ?? 0)]
  if (repetition === undefined) throw damagedFile(`has column ${label} with an unknown repetition`)
  const type =
    element.field_1 === undefined || parent === undefined ? undefined : ParquetTypes[natural(element.field_1)]
  if (element.field_1 !== undefined && type === undefined && parent !== undefined)
    throw damagedFile(`has column ${label} of an unknown physical type`)
  const length = element.field_2 === undefined ? 0 : natural(element.field_2)
  if (type === 'FIXED_LEN_BYTE_ARRAY' && (length < 1 || length > 1 << 24))
    throw damagedFile(`has column ${label} with values of ${length} bytes`)
  return {
    name,
    label,
    repetition,
    def: (parent?.def ?? 0) + (repetition === 'REQUIRED' ? 0 : 1),
    rep: (parent?.rep ?? 0) + (repetition === 'REPEATED' ? 1 : 0),
    type,
    length,
    logical: logicalOf(element, label),
  }
}

/** Replacing what is no UTF-8 could make the names of two columns one. */
function nameOf(value: unknown): string {
  const name = textOf(value)
  if (Buffer.compare(Buffer.from(name), value as Uint8Array) !== 0)
    throw damagedFile(`has column ${JSON.stringify(name)} whose name is no UTF-8`)
  return name
}

function twice(label: string): CatalogError {
  return new CatalogError(
    'TableSchemaValidationError',
    `The Parquet file has two columns named ${label}. Give each column a name of its own.`,
  )
}
