import { manifestFile, section } from '../../../src/catalog/lance/manifest-file.ts'
import { type Field, writeFields } from '../../../src/catalog/lance/protobuf.ts'

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
