import type { DataType } from '@uwdata/flechette'
import type { ValueNode } from '../../evaluate/node.ts'
import type { Texts } from '../../evaluate/vector.ts'
import { compile } from '../kernels/compile.ts'
import type { FastCall } from './index.ts'

/**
 * `length` and `octet_length`: where a slice is ASCII, the difference of
 * two offsets; elsewhere characters are counted by the bytes that begin one. No string is made for a row.
 */
export function textLength(type: DataType, of: 'characters' | 'bytes', arg: ValueNode): FastCall {
  return (frame, need) => {
    const vector = arg.vector(frame, need)
    if (vector.kind !== 'texts') return undefined
    const values = frame.array(Int32Array, frame.length)
    const count = of === 'bytes' || isAscii(vector, frame.length) ? countBytes() : countCharacters()
    count(vector.offsets, vector.bytes, frame.length, values)
    return { kind: 'numbers', type, valid: vector.valid, values }
  }
}

type Counter = (offsets: Int32Array, bytes: Uint8Array, n: number, out: Int32Array) => void

function countBytes(): Counter {
  return compile(
    'text bytes',
    'offs,b,n,out',
    () => 'for (let i = 0; i < n; i++) out[i] = offs[i+1] - offs[i]',
  )
}

function countCharacters(): Counter {
  return compile(
    'text characters',
    'offs,b,n,out',
    () => `
      for (let i = 0; i < n; i++) {
        let count = 0
        for (let j = offs[i]; j < offs[i+1]; j++) count += +((b[j] & 0xc0) !== 0x80)
        out[i] = count
      }`,
  )
}

/** What was found out of slices of a column's bytes: where one ends, and whether it is ASCII. */
const found = new WeakMap<Uint8Array, Map<number, readonly [end: number, isAscii: boolean]>>()

/** Remembered, as it takes longer than all the rest. */
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
