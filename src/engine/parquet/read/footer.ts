import { CompressionCodecs, ParquetTypes } from 'hyparquet/src/constants.js'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { damagedFile, unreadable } from '../damage.ts'
import { readSchemaTree, type SchemaNode } from './schema-tree.ts'
import type { OpenSource } from './source.ts'
import { CutOff, natural, readStruct, type Struct, structs, textOf } from './thrift.ts'

/** What a file says of itself at its end. */
export interface Footer {
  readonly root: SchemaNode
  readonly rows: number
  readonly groups: readonly RowGroup[]
  readonly metadata: ReadonlyMap<string, string>
}

export interface RowGroup {
  readonly rows: number
  /** A chunk for each leaf of the schema. */
  readonly chunks: readonly Chunk[]
}

/** The bytes of one leaf in a row group. */
export interface Chunk {
  readonly start: number
  readonly end: number
  readonly codec: string
  /** Values with nulls, of lists each. */
  readonly values: number
}

const magic = 'PAR1'
const encryptedMagic = 'PARE'
const maxFooterBytes = 32 << 20
/** The magic number at the beginning, and at the end with the footer's length before it. */
const frameBytes = 4 + 8

/** Reads and checks the end of a file. */
export async function readFooter(source: OpenSource): Promise<Footer> {
  const size = source.byteLength
  if (size < frameBytes) throw damagedFile(`has ${size} bytes, too few for any`)
  const [head, tail] = [await source.read(0, 4), await source.read(size - 8, size)]
  const [begins, ends] = [textOf(head), textOf(tail.subarray(4))]
  if (ends === encryptedMagic) throw encrypted()
  if (begins !== magic)
    throw invalid(
      `This is no Parquet file: it does not begin with ${magic}. Give the path or the bytes of one.`,
    )
  if (ends !== magic) throw damagedFile(`does not end with ${magic}, so it was cut off`)
  const length = new DataView(tail.buffer, tail.byteOffset).getUint32(0, true)
  if (length > size - frameBytes) throw damagedFile(`claims a footer of ${length} bytes, more than it has`)
  if (length > maxFooterBytes) {
    throw unreadable(
      `has a footer of ${length.toLocaleString('en')} bytes, and at most ${maxFooterBytes.toLocaleString('en')} are read`,
      'Write it with fewer or larger row groups.',
    )
  }
  const bytes = await source.read(size - 8 - length, size - 8)
  try {
    return footerOf(readStruct(bytes, 0).struct, size - 8 - length)
  } catch (cause) {
    if (cause instanceof CatalogError) throw cause
    throw damagedFile(cause instanceof CutOff ? 'has a footer that is cut off' : 'has an unreadable footer', {
      cause,
    })
  }
}

/** Reads the members of `FileMetaData`. Source: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift */
function footerOf(file: Struct, end: number): Footer {
  if (file.field_8 !== undefined) throw encrypted()
  const root = readSchemaTree(structs(file.field_2))
  const groups = structs(file.field_4).map((group) => rowGroup(group, root, end))
  const rows = natural(file.field_3)
  if (groups.reduce((sum, group) => sum + group.rows, 0) !== rows)
    throw damagedFile(`says it has ${rows} rows, and its row groups have another number`)
  const metadata = new Map<string, string>()
  for (const { field_1, field_2 } of file.field_5 === undefined ? [] : structs(file.field_5))
    metadata.set(textOf(field_1), field_2 === undefined ? '' : textOf(field_2))
  return { root, rows, groups, metadata }
}

function rowGroup(group: Struct, root: SchemaNode, end: number): RowGroup {
  const columns = structs(group.field_1)
  if (columns.length !== root.leaves.length)
    throw damagedFile(
      `has a row group of ${columns.length} columns, where the schema has ${root.leaves.length}`,
    )
  return {
    rows: natural(group.field_3),
    chunks: columns.map((column, i) => chunkOf(column, root.leaves[i]!, end)),
  }
}

function chunkOf(column: Struct, leaf: SchemaNode, end: number): Chunk {
  if (column.field_8 !== undefined || column.field_9 !== undefined) throw encrypted()
  if (column.field_1 !== undefined)
    throw unreadable(`has the data of column ${leaf.label} in another file`, 'Join the parts to one file.')
  const about = column.field_3 as Struct
  const type = ParquetTypes[natural(about.field_1)]
  if (type !== leaf.type) throw damagedFile(`says column ${leaf.label} is ${type} and ${leaf.type}`)
  checkHistograms(about.field_16 as Struct | undefined, leaf)
  const data = natural(about.field_9)
  const dictionary = about.field_11 === undefined ? 0 : natural(about.field_11)
  const start = dictionary > 0 && dictionary < data ? dictionary : data
  const bytes = natural(about.field_7)
  const values = natural(about.field_5)
  if (values > 0 && (start < 4 || start + bytes > end))
    throw damagedFile(`has column ${leaf.label} outside of its data`)
  const codec = natural(about.field_4)
  return {
    start,
    end: start + bytes,
    codec: CompressionCodecs[codec] ?? `number ${codec}`,
    values,
  }
}

/** Histograms have an entry for each level. Other numbers tell that the levels of the schema are damaged. */
function checkHistograms(sizes: Struct | undefined, { rep, def, label }: SchemaNode): void {
  for (const [histogram, max] of [
    [sizes?.field_2, rep],
    [sizes?.field_3, def],
  ] as const)
    if (Array.isArray(histogram) && histogram.length > 0 && histogram.length !== max + 1)
      throw damagedFile(`has ${histogram.length} levels of column ${label}, where its schema has ${max + 1}`)
}

function encrypted(): CatalogError {
  return unreadable('is encrypted', 'Decrypt it with the program that wrote it, and give the result.')
}
