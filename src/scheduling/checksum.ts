import { setImmediate } from 'node:timers/promises'
import { crc32 } from 'node:zlib'

/** Bytes summed at once, in about a millisecond. Summing a whole large column would block all other work. */
const sliceBytes = 4 << 20

/** The CRC-32 of bytes, which come after bytes of checksum `sum`. Lets other work go on meanwhile. */
export async function checksumInTurns(bytes: Uint8Array, sum = 0): Promise<number> {
  sum = crc32(bytes.subarray(0, sliceBytes), sum)
  for (let at = sliceBytes; at < bytes.length; at += sliceBytes) {
    await setImmediate()
    sum = crc32(bytes.subarray(at, at + sliceBytes), sum)
  }
  return sum
}
