import type { ValueKernel } from '../evaluate/build.ts'
import type { Texts } from '../evaluate/vector.ts'

/**
 * `length` and `octet_length`: the difference of two offsets if a slice is ASCII. Otherwise characters are counted by
 * their first bytes. No string is created for a row.
 */
export const textLengths: ValueKernel = (plan, slow, build) => {
  const kernel = plan.kind === 'call' ? plan.function.kernel : undefined
  if (plan.kind !== 'call' || kernel?.kind !== 'textLength') return undefined
  const { type } = plan
  const arg = build.value(plan.args[0]!)
  if (plan.args[0]!.kind !== 'column') return undefined
  return {
    ...slow,
    cost: arg.cost + 5,
    vector(frame, need) {
      const mark = frame.mark()
      const vector = arg.vector(frame, need)
      if (vector.kind !== 'texts') {
        frame.release(mark)
        return slow.vector(frame, need)
      }
      const { offsets, bytes, valid } = vector
      const values = frame.array(Int32Array, frame.length)
      if (kernel.of === 'bytes' || isAscii(vector, frame.length)) countBytes(offsets, values)
      else countCharacters(offsets, bytes, values)
      return { kind: 'numbers', type, valid, values }
    },
  }
}

function countBytes(offsets: Int32Array, out: Int32Array): void {
  const n = out.length
  for (let i = 0; i < n; i++) out[i] = offsets[i + 1]! - offsets[i]!
}

function countCharacters(offsets: Int32Array, bytes: Uint8Array, out: Int32Array): void {
  const n = out.length
  for (let i = 0; i < n; i++) {
    let count = 0
    for (let j = offsets[i]!; j < offsets[i + 1]!; j++) count += +((bytes[j]! & 0xc0) !== 0x80)
    out[i] = count
  }
}

/** What is known about a slice of a column's bytes: its end, and whether it is ASCII. */
const found = new WeakMap<Uint8Array, Map<number, readonly [end: number, isAscii: boolean]>>()

/** Cached, as it takes longer than all the rest. */
function isAscii({ bytes, offsets }: Texts, n: number): boolean {
  const start = offsets[0]!
  const end = offsets[n]!
  const slices = found.get(bytes) ?? new Map<number, readonly [number, boolean]>()
  const known = slices.get(start)
  if (known?.[0] === end) return known[1]
  const result = areAscii(bytes.subarray(start, end))
  found.set(bytes, slices.set(start, [end, result]))
  return result
}

function areAscii(bytes: Uint8Array): boolean {
  const { buffer, byteOffset, length } = bytes
  const head = Math.min(-byteOffset & 3, length)
  const words = new Int32Array(buffer, byteOffset + head, (length - head) >> 2)
  let seen = 0
  for (let i = 0; i < head; i++) seen |= bytes[i]!
  for (let i = head + words.length * 4; i < length; i++) seen |= bytes[i]!
  for (let i = 0; i < words.length; i++) seen |= words[i]!
  return (seen & 0x80808080) === 0
}
