import { illegalArgument } from '../errors.ts'
import { readObject, readOptionalString, readOptionalStringMap, readString, show } from './read.ts'
import type { EncryptionKey } from './types.ts'

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** A key of a table's encryption from parsed JSON. Keys are passed through, and never used here. */
export function readEncryptionKey(value: unknown, where: string): EncryptionKey {
  const object = readObject(value, where)
  readString(object, 'key-id', where)
  const metadata = readString(object, 'encrypted-key-metadata', where)
  if (!base64.test(metadata))
    throw illegalArgument(`Cannot parse Base64: ${where}.encrypted-key-metadata: ${show(metadata)}`)
  readOptionalString(object, 'encrypted-by-id', where)
  readOptionalStringMap(object, 'properties', where)
  return object as EncryptionKey
}
