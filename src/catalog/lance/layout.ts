import type { DatasetFragment, DatasetLayout } from '../../engine/lance/index.ts'
import { bufferOf, manifestFields, message, numberIn } from './manifest-file.ts'
import { type Field, readFields, writeFields } from './protobuf.ts'

const manifestField = { fields: 1, fragments: 2 }
const fragmentField = { id: 1, files: 2, deletions: 3, rows: 4 }
const deletionField = { count: 4 }
/** Of data files and deletion files: where they lie, if that is not beside the manifest. */
const baseField = 7
const schemaField = { name: 2, id: 3, parent: 4 }

/** What a manifest says of the fragments and columns of its version. Throws a `RangeError` for another file. */
export function layoutOf(manifest: Uint8Array): DatasetLayout {
  const fields = manifestFields(bufferOf(manifest))
  return {
    fragments: all(fields, manifestField.fragments).map(fragmentOf),
    columns: columnsOf(all(fields, manifestField.fields)),
  }
}

const all = (fields: readonly Field[], number: number) => fields.filter((field) => field.number === number)

function fragmentOf(field: Field): DatasetFragment {
  const fields = readFields(message(field))
  const deletions = fields.findLast(({ number }) => number === fragmentField.deletions)
  return {
    id: Number(numberIn(fields, fragmentField.id) ?? 0n),
    rows: Number(numberIn(fields, fragmentField.rows) ?? 0n),
    deleted: deletions ? Number(numberIn(readFields(message(deletions)), deletionField.count) ?? 0n) : 0,
    // What is not known of a fragment counts, too: then more is read than must be.
    files: textOf(
      fields.flatMap((one) => {
        if (one.number === fragmentField.deletions) return []
        return one.number === fragmentField.files ? [withoutBase(one)] : [one]
      }),
    ),
    deletions: deletions ? textOf([withoutBase(deletions)]) : '',
  }
}

/** Names of files are random. So a file is the same one wherever it lies, as on the branch that it was written on. */
function withoutBase(file: Field): Field {
  const fields = readFields(message(file)).filter(({ number }) => number !== baseField)
  return { number: file.number, value: writeFields(fields) }
}

const textOf = (fields: readonly Field[]) => Buffer.from(writeFields(fields)).toString('latin1')

/** Each column with the fields in it. */
function columnsOf(fields: readonly Field[]): Map<string, string> {
  const columns = new Map<string, string>()
  const rootOf = new Map<bigint, string>()
  for (const field of fields) {
    const parts = readFields(message(field))
    const parent = numberIn(parts, schemaField.parent) ?? 0n
    const name = parts.findLast(({ number }) => number === schemaField.name)
    const root = rootOf.get(parent) ?? (name ? Buffer.from(message(name)).toString() : '')
    rootOf.set(numberIn(parts, schemaField.id) ?? 0n, root)
    columns.set(root, (columns.get(root) ?? '') + textOf([field]))
  }
  return columns
}
