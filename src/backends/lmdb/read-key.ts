import type { Key as LmdbKey } from 'lmdb'
import type { Key } from '../../store/store.ts'
import type { Database } from './environment.ts'

/** How the driver reads the keys it walks over: a method of its database, which it looks up for each key. */
type ReadKey = (buffer: Buffer, start: number, end: number) => LmdbKey

/** What all keys of a walk begin with, and how many bytes that takes. */
interface Beginning {
  readonly prefix: Key
  readonly bytes: number
}

let beginning: Beginning | undefined

const scratch = Buffer.alloc(8192)

/**
 * Makes a database read keys faster inside {@link withPrefix}: only the part after the prefix is decoded, if it
 * is one string of ASCII. That is most of what names are, and takes a quarter off a page of a hundred.
 */
export function readKeysFast(db: Database): void {
  const place = db as unknown as { readKey: ReadKey }
  const readAny = place.readKey
  place.readKey = (buffer, start, end) => {
    if (beginning === undefined) return readAny(buffer, start, end)
    const from = start + beginning.bytes
    return isOneString(buffer, from, end)
      ? [...(beginning.prefix as string[]), buffer.toString('latin1', from, end)]
      : readAny(buffer, start, end)
  }
}

/** Runs a walk over keys that all begin with `prefix` and are longer. */
export function withPrefix<T>(db: Database, prefix: Key | undefined, walk: () => T): T {
  if (prefix === undefined || prefix.length === 0) return walk()
  const { writeKey } = db as unknown as { writeKey: (key: Key, target: Buffer, at: number) => number }
  // One more byte, which parts the prefix from what follows.
  beginning = { prefix, bytes: writeKey(prefix, scratch, 0) + 1 }
  try {
    return walk()
  } finally {
    beginning = undefined
  }
}

/** Whether the bytes are a string of ASCII without the marks of numbers, escapes or a further part. */
function isOneString(buffer: Buffer, from: number, end: number): boolean {
  if (!(buffer[from]! >= 28)) return false
  for (let i = from; i < end; i++) if (buffer[i]! < 5 || buffer[i]! >= 0x80) return false
  return true
}
