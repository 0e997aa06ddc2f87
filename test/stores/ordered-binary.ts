import { createRequire } from 'node:module'
import type { Key } from '../../src/base/store/store.ts'

interface OrderedBinary {
  writeKey(key: unknown, target: Buffer, position: number): number
  readKey(source: Buffer, start: number, end: number): unknown
}

// It is a dependency of lmdb and not of ours.
const { writeKey, readKey }: OrderedBinary = createRequire(createRequire(import.meta.url).resolve('lmdb'))(
  'ordered-binary',
)

/** The bytes lmdb encodes a key to. */
export function encodeKey(key: Key): Buffer {
  const target = Buffer.alloc(16_384)
  return Buffer.from(target.subarray(0, writeKey(key, target, 0)))
}

/** The key that bytes stand for. */
export function decodeKey(bytes: Buffer): Key {
  // It wants room behind what it reads.
  const source = Buffer.alloc(bytes.length + 16)
  bytes.copy(source)
  const key = readKey(source, 0, bytes.length)
  return (Array.isArray(key) ? key : [key]) as Key
}
