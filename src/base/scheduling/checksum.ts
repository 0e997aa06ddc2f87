import { crc32 } from 'node:zlib'
import { nextTurn } from '../time.ts'

/** Bytes summed at once, in about a millisecond. Summing a whole large column would block all other work. */
const sliceBytes = 4 << 20

const known = new WeakMap<Uint8Array, Promise<number>>()

/** The CRC-32 of immutable bytes, calculated once, however many layers compare it. Yields to other work. */
export function checksumOfRead(bytes: Uint8Array): Promise<number> {
  let sum = known.get(bytes)
  if (sum === undefined) {
    sum = checksumInTurns(bytes)
    known.set(bytes, sum)
  }
  return sum
}

async function checksumInTurns(bytes: Uint8Array): Promise<number> {
  let sum = crc32(bytes.subarray(0, sliceBytes))
  for (let at = sliceBytes; at < bytes.length; at += sliceBytes) {
    await nextTurn()
    sum = crc32(bytes.subarray(at, at + sliceBytes), sum)
  }
  return sum
}
