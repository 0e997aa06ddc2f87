import { type DataType, Type } from '@uwdata/flechette'
import { type AnyBatch, dictionaryOf, isNullAt } from '../../arrow/batch.ts'
import type { Predicate } from '../../predicate/index.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import { indexedFields } from '../indexes/indexed-fields.ts'
import { type Compiling, compile } from '../scan/compile.ts'
import type { MergeSource } from './source.ts'

/** Most distinct values of a column that rows are searched by. For more, hashing every row takes less time. */
const maxValues = 64

/** Most rows to merge whose keys are compared for that. */
const maxRows = 4_096

/** Most characters of the predicate. */
const maxLength = 16_384

/**
 * A predicate that is true for all rows of a table with a key of the rows to merge, and perhaps for others: `a IN (…)
 * AND b IN (…)`. A scan evaluates it in a fifth of the time that hashing the keys takes. Undefined for many keys, and if
 * no column of the key has integers or texts.
 */
export async function keyPredicate(
  source: MergeSource,
  snapshot: LoadedSnapshot,
  now: number,
  job: Compiling,
): Promise<Predicate | undefined> {
  if (source.rows > maxRows) return undefined
  const { schema } = snapshot
  const indexed = new Set(indexedFields(snapshot).map(({ path }) => path.join()))
  const parts = source.keys.flatMap(({ path: [column, ...within] }) => {
    const literals = within.length === 0 ? literalsOf(source.batchesOf(column!)) : undefined
    if (literals === undefined || literals.length === 0) return []
    const name = `\`${schema.fields[column!]!.name.replaceAll('`', '``')}\``
    // Texts that begin alike are compared byte by byte, which takes longer than hashing them. An index finds few of them.
    const isScanned = !indexed.has(String(column))
    if (literals.length > 1 && isScanned && isText(schema.fields[column!]!.type)) return []
    return literals.length === 1 ? `${name} = ${literals[0]!}` : `${name} IN (${literals.join(', ')})`
  })
  const text = parts.join(' AND ')
  return text === '' || text.length > maxLength ? undefined : compile(text, schema, now, job)
}

function isText({ typeId }: DataType): boolean {
  return typeId === Type.Utf8 || typeId === Type.LargeUtf8
}

/** The distinct values as literals, without null; undefined if there are many, or if one of them has no literal. */
function literalsOf(batches: readonly AnyBatch[]): string[] | undefined {
  const literals = new Set<string>()
  for (const batch of batches) {
    for (let row = 0; row < batch.length; row++) {
      const literal = literalAt(batch, row)
      if (literal === undefined) return undefined
      if (literal !== null) literals.add(literal)
      if (literals.size > maxValues) return undefined
    }
  }
  return [...literals]
}

/** The language reads the digits of the least 64-bit integer before its minus, so it has no literal for it. */
const withoutLiteral = String(-(2n ** 63n))

function literalAt(batch: AnyBatch, row: number): string | null | undefined {
  if (isNullAt(batch, row)) return null
  const { type, values, offsets } = batch
  switch (type.typeId) {
    case Type.Dictionary: {
      const [entries, ...others] = dictionaryOf(batch).data
      if (entries === undefined || others.length > 0) return undefined
      return literalAt(entries, Number((values as Int32Array)[row]))
    }
    case Type.Int: {
      const literal = String((values as Int32Array)[row])
      return literal === withoutLiteral ? undefined : literal
    }
    case Type.Utf8:
    case Type.LargeUtf8: {
      const bytes = (values as Uint8Array).subarray(Number(offsets[row]), Number(offsets[row + 1]))
      if (bytes.length > maxLength) return undefined
      const text = Buffer.from(bytes).toString()
      // Bytes that are no UTF-8 have no literal.
      return Buffer.compare(Buffer.from(text), bytes) === 0 ? `'${text.replaceAll("'", "''")}'` : undefined
    }
    default:
      return undefined
  }
}
