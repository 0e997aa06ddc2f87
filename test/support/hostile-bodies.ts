import { float64, int8, type Schema, utf8 } from '@uwdata/flechette'
// The internal encoder: it writes buffers without checks, even when their headers are wrong.
// @ts-expect-error It has no types.
import { encodeIPC } from '../../node_modules/@uwdata/flechette/src/encode/encode-ipc.js'

/*
 * Small Arrow bodies that decompress to huge columns of zeros.
 */

/** How a body is made. */
export interface HostileBody {
  readonly codec: 'lz4' | 'zstd'
  /** Bytes of each column after decompression. */
  readonly bytes: number
  readonly columns?: number
  /** Whether the column is one row of text, whose size the row count does not reveal. Default: rows of doubles. */
  readonly text?: boolean
  /** A false length for the first column's buffer. */
  readonly claim?: number
}

/** An Arrow IPC stream of columns of zeros. */
export function hostileBody({
  codec,
  bytes,
  columns = 1,
  text = false,
  claim = bytes,
}: HostileBody): Uint8Array {
  const rows = text ? 1 : bytes / 8
  const names = Array.from({ length: columns }, (_, i) => `c${i}`)
  const schema: Partial<Schema> = {
    fields: names.map((name) => ({
      name,
      type: text ? utf8() : float64(),
      nullable: true,
      metadata: new Map(),
    })),
    metadata: null,
  }
  const packed = codec === 'lz4' ? lz4Zeros(bytes) : zstdZeros(bytes)
  const values = withLength(packed, claim)
  const offsets = withLength(new Uint8Array(Int32Array.of(0, bytes).buffer), -1)
  const each = text ? [new Uint8Array(0), offsets, values] : [new Uint8Array(0), values]
  const buffers = names.flatMap(() => each)
  const regions: { offset: number; length: number }[] = []
  let byteLength = 0
  for (const { length } of buffers) {
    regions.push({ offset: byteLength, length })
    byteLength += (length + 7) & ~7
  }
  const nodes = names.map(() => ({ length: rows, nullCount: 0 }))
  const records = [{ byteLength, nodes, regions, variadic: [], buffers }]
  return encodeIPC({ schema, records }, { codec: codec === 'lz4' ? 0 : 1 }).finish()
}

function withLength(packed: Uint8Array, length: number): Uint8Array {
  const bytes = new Uint8Array(8 + packed.length)
  new DataView(bytes.buffer).setBigInt64(0, BigInt(length), true)
  bytes.set(packed, 8)
  return bytes
}

/** Zeros as an LZ4 frame, compressed to a 255th. */
export function lz4Zeros(length: number): Uint8Array {
  const most = 4 << 20
  const parts: number[] = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73]
  for (let left = length; left > 0; ) {
    const size = Math.min(left, most)
    const block = lz4Block(size)
    parts.push(block.length & 255, (block.length >> 8) & 255, (block.length >> 16) & 255, block.length >>> 24)
    for (const byte of block) parts.push(byte)
    left -= size
  }
  parts.push(0, 0, 0, 0)
  return Uint8Array.from(parts)
}

function lz4Block(size: number): number[] {
  if (size < 32) return [0xf0, size - 15, ...new Array(size).fill(0)].slice(size < 15 ? 1 : 0)
  // One literal, then a match with it, and five literals at the end.
  const block = [0x1f, 0, 1, 0]
  let more = size - 1 - 5 - 4 - 15
  for (; more >= 255; more -= 255) block.push(255)
  block.push(more, 0x50, 0, 0, 0, 0, 0)
  return block
}

/** Zeros as a ZSTD frame: four bytes for each 128 KiB. */
function zstdZeros(length: number): Uint8Array {
  const most = 131_072
  // The size stands in the frame, and the window is 128 KiB.
  const head = new Uint8Array(14)
  const view = new DataView(head.buffer)
  view.setUint32(0, 0xfd2fb528, true)
  head[4] = 0xc0
  head[5] = 0x38
  view.setBigUint64(6, BigInt(length), true)
  const parts = [...head]
  for (let left = length; left > 0; ) {
    const size = Math.min(left, most)
    left -= size
    const block = (left === 0 ? 1 : 0) | (1 << 1) | (size << 3)
    parts.push(block & 255, (block >> 8) & 255, block >> 16, 0)
  }
  return Uint8Array.from(parts)
}

/** Uncompressed columns of bytes, which all share one buffer. */
export function plainBody(rows: number, columns = 1): Uint8Array {
  const names = Array.from({ length: columns }, (_, i) => (columns === 1 ? 'x' : `c${i}`))
  const schema = {
    fields: names.map((name) => ({ name, type: int8(), nullable: true, metadata: new Map() })),
    metadata: null,
  }
  const record = {
    byteLength: (rows + 7) & ~7,
    nodes: names.map(() => ({ length: rows, nullCount: 0 })),
    regions: names.flatMap(() => [
      { offset: 0, length: 0 },
      { offset: 0, length: rows },
    ]),
    variadic: [],
    buffers: [new Uint8Array(rows)],
  }
  return encodeIPC({ schema, records: [record] }, {}).finish()
}
