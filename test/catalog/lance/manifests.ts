import {
  bufferOf,
  manifestField,
  manifestFields,
  manifestFile,
  manifestStart,
  message,
  section,
} from '../../../src/catalog/lance/manifest-file.ts'
import { type Field, readFields, writeFields } from '../../../src/catalog/lance/protobuf.ts'

/* Manifests as far as the catalog reads them. */

/** How a manifest names its transaction: by the file, in a section, or both. */
export type Form = 'file' | 'section' | 'both'

/** The id of a transaction by its number. */
export const uuidOf = (transaction: number) =>
  `00000000-0000-4000-8000-${transaction.toString(16).padStart(12, '0')}`

/** The manifest of a version whose transaction read another one. */
export function manifestOf(
  version: number,
  read: number,
  uuid: string,
  form: Form,
  changed = '',
): Uint8Array {
  const text = (number: number, held: string): Field => ({ number, value: new TextEncoder().encode(held) })
  const message = writeFields([
    { number: 1, value: BigInt(read) },
    text(2, uuid),
    text(100, `what it changed${changed}`),
  ])
  const manifest = writeFields([
    { number: 3, value: BigInt(version) },
    ...(form === 'section' ? [] : [text(12, `${read}-${uuid}.txn`)]),
    ...(form === 'file' ? [] : [{ number: 21, value: 0n }]),
  ])
  return manifestFile(
    form === 'file' ? [] : section(message),
    manifest,
    Buffer.from('\0\0\x02\0LANC', 'latin1'),
  )
}

/** A manifest with other fields. What lies before it in its file stays. */
export function withFields(manifest: Uint8Array, change: (fields: readonly Field[]) => Field[]): Uint8Array {
  const file = bufferOf(manifest)
  const before = file.subarray(0, manifestStart(file))
  return manifestFile([before], writeFields(change(manifestFields(file))), file)
}

/** A field, which is a message, with other fields. */
export function withMembers(field: Field, change: (members: readonly Field[]) => Field[]): Field {
  return { number: field.number, value: writeFields(change(readFields(message(field)))) }
}

/** The fields of a manifest with another name and folder for each data file. */
export function withDataFile(fields: readonly Field[], name: string, base: bigint | undefined): Field[] {
  const [files, path, folder] = [2, 1, 7]
  return fields.map((one) =>
    one.number !== manifestField.fragments
      ? one
      : withMembers(one, (parts) =>
          parts.map((part) =>
            part.number !== files
              ? part
              : withMembers(part, (found) => [
                  ...found.filter(({ number }) => number !== path && number !== folder),
                  { number: path, value: Buffer.from(name) },
                  ...(base === undefined ? [] : [{ number: folder, value: base }]),
                ]),
          ),
        ),
  )
}

/** A folder with files of a version, as a manifest names it. */
export function baseAt(id: bigint, path: string, isDataset: boolean): Field {
  const value = writeFields([
    { number: 1, value: id },
    { number: 3, value: isDataset ? 1n : 0n },
    { number: 4, value: Buffer.from(path) },
  ])
  return { number: manifestField.bases, value }
}
