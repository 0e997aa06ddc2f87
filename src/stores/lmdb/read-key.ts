import type { Key as LmdbKey } from 'lmdb'
import type { Key } from '../../base/store/store.ts'
import type { Database } from './driver.ts'

/** The driver's method to decode a key. The driver looks it up on the database for each key of a walk. */
type ReadKey = (buffer: Buffer, start: number, end: number) => LmdbKey

/** The common prefix of all keys of a walk, and its encoded length with the separator. */
interface WalkPrefix {
  readonly prefix: Key
  readonly bytes: number
}

let current: WalkPrefix | undefined

const scratch = Buffer.alloc(8192)

/**
 * Makes a database decode keys faster inside {@link withPrefix}. It decodes only the parts after the prefix, in half of
 * the time. The parts of a key are encoded one by one, so the rest of a key is itself a valid key.
 */
export function readKeysFast(db: Database): void {
  const reader = db as unknown as { readKey: ReadKey }
  const readAny = reader.readKey
  reader.readKey = (buffer, start, end) => {
    if (current === undefined) return readAny(buffer, start, end)
    const rest = readAny(buffer, start + current.bytes, end)
    const prefix = current.prefix as string[]
    return Array.isArray(rest) ? [...prefix, ...rest] : [...prefix, rest as string]
  }
}

/** Runs a walk over keys that all begin with `prefix` and have further parts. */
export function withPrefix<T>(db: Database, prefix: Key | undefined, walk: () => T): T {
  if (prefix === undefined || prefix.length === 0) return walk()
  const { writeKey } = db as unknown as { writeKey: (key: Key, target: Buffer, at: number) => number }
  // One more byte for the separator after the prefix.
  current = { prefix, bytes: writeKey(prefix, scratch, 0) + 1 }
  try {
    return walk()
  } finally {
    current = undefined
  }
}
