import type { DataType } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { type BufferName, bufferNamesOf, childFields, type Layout, layoutOf } from '../layout.ts'
import { damaged } from './body.ts'
import { canHoldZstd } from './codecs.ts'
import type { BatchHeader } from './message.ts'

/** The memory that reading a table takes, as its messages claim it. */
export interface Sizes {
  /** Bytes of all buffers after decompression. */
  decoded: number
  /** The part of `bytes` that is not in the messages themselves: memory to allocate besides them. */
  added: number
}

/** The buffer of a compressed message: its length after decompression, and its bytes. */
export interface Packed {
  /** Undefined for a buffer that is stored without compression. */
  readonly length: number | undefined
  readonly bytes: Uint8Array
}

/** The bytes of a buffer in the body of a message; empty for an absent one. Undefined if it is outside of the body. */
export function bufferAt({ buffers }: BatchHeader, body: Uint8Array, index: number): Uint8Array | undefined {
  const region = buffers[index]
  if (region === undefined || region.length < 0 || region.offset < 0) return undefined
  if (region.length === 0) return body.subarray(0, 0)
  const end = region.offset + region.length
  return end > body.length ? undefined : body.subarray(region.offset, end)
}

/** Reads the header of a compressed buffer, before any memory is allocated for it. */
export function readPacked(bytes: Uint8Array, { compression }: BatchHeader, column: string): Packed {
  // Each buffer begins with its decompressed length, or with −1 when it is not compressed.
  if (bytes.length < 8) throw damaged(column, 'has a compressed buffer without its length')
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigInt64(0, true))
  const packed = bytes.subarray(8)
  if (length === -1) return { length: undefined, bytes: packed }
  if (length < 0) throw damaged(column, 'has a compressed buffer of negative length')
  if (!canHold(packed, length, compression, column))
    throw damaged(column, `has a compressed buffer that is not ${length} bytes long, as it says`)
  return { length, bytes: packed }
}

function canHold(
  packed: Uint8Array,
  length: number,
  codec: 'lz4' | 'zstd' | undefined,
  column: string,
): boolean {
  // No LZ4 sequence expands a byte to more than 255 bytes.
  if (codec === 'lz4') return length <= packed.length * 255
  try {
    return canHoldZstd(packed, length)
  } catch (cause) {
    throw damaged(column, 'has a buffer that is not valid ZSTD data', { cause })
  }
}

/** Writers may pad buffers, and grow them by doubling; larger buffers have no use. */
const slack = 4096

/**
 * Adds the memory that the body of a message takes after decoding. Reads the lengths that its buffers claim, and
 * compares them with the bytes that its rows need. Other damage is left to `BodyReader`.
 */
export function addSizes(
  sizes: Sizes,
  header: BatchHeader,
  body: Uint8Array,
  columns: readonly { readonly type: DataType; readonly name: string }[],
): void {
  let node = 0
  let buffer = 0
  let variadic = 0

  /**
   * Counts the next buffer, with the bytes that rows need, if known. `made`: bytes to allocate for an omitted buffer.
   */
  const count = (column: string, needed?: number, alignment = 1, made = needed ?? 0): void => {
    const bytes = bufferAt(header, body, buffer++)
    if (bytes === undefined) return
    if (bytes.length === 0) {
      sizes.decoded += made
      sizes.added += made
      return
    }
    const packed = header.compression && readPacked(bytes, header, column)
    const length = packed?.length ?? (packed?.bytes ?? bytes).length
    if (packed?.length !== undefined && needed !== undefined && length > 2 * needed + slack) {
      throw damaged(column, `has a buffer that claims ${length} bytes where its rows need ${needed}`)
    }
    sizes.decoded += length
    // Unaligned values are copied.
    const isCopied = packed?.length !== undefined || bytes.byteOffset % alignment !== 0
    if (isCopied) sizes.added += length
  }

  const visit = (type: DataType, column: string): void => {
    const { length = 0, nullCount = 0 } = header.nodes[node++] ?? {}
    if (length < 0) return
    const layout = layoutOf(type)
    if (layout.kind === 'union' && header.unionsHaveValidity) count(column)
    for (const name of bufferNamesOf(layout)) {
      const { needed, alignment } = bytesNeeded(name, layout, length)
      count(column, needed, alignment, name === 'validity' && nullCount === 0 ? 0 : needed)
    }
    if (layout.kind === 'views') {
      const data = Math.min(header.variadic[variadic++] ?? 0, header.buffers.length)
      for (let i = 0; i < data; i++) count(column)
    }
    if (layout.kind === 'fixedList') {
      const missing = length * layout.stride - (header.nodes[node]?.length ?? 0)
      if (missing > 0) {
        const bytes = bytesOfNulls(childFields(type)[0]!.type, missing)
        sizes.decoded += bytes
        sizes.added += bytes
      }
    }
    for (const field of childFields(type)) visit(field.type, `${column}.${field.name}`)
  }
  for (const { type, name } of columns) visit(type, name)
}

interface Needed {
  /** The bytes of the rows; undefined where their number does not decide it. */
  readonly needed?: number
  readonly alignment: number
}

function bytesNeeded(name: BufferName, layout: Layout, rows: number): Needed {
  if (name === 'validity' || layout.kind === 'bits') return { needed: Math.ceil(rows / 8), alignment: 1 }
  if (name === 'typeIds') return { needed: rows, alignment: 1 }
  if (name === 'values') {
    if (layout.kind === 'views') return { needed: rows * 16, alignment: 1 }
    if (!('array' in layout)) return { alignment: 1 }
    return { needed: rows * layout.bytes, alignment: layout.array.BYTES_PER_ELEMENT }
  }
  if (!('offsets' in layout)) return { needed: rows * 4, alignment: 4 }
  const size = layout.offsets.BYTES_PER_ELEMENT
  return { needed: (layout.kind === 'listView' ? rows : rows + 1) * size, alignment: size }
}

function bytesOfNulls(type: DataType, rows: number): number {
  const layout = layoutOf(type)
  const within = (size: number) =>
    childFields(type).reduce((sum, field) => sum + bytesOfNulls(field.type, size), rows / 8)
  switch (layout.kind) {
    case 'fixed':
    case 'dictionary':
      return rows * (layout.bytes + 1)
    case 'views':
      return rows * 17
    case 'fixedList':
      return within(rows * layout.stride)
    case 'struct':
      return within(rows)
    default:
      // At most offsets and sizes of eight bytes each.
      return rows * 17
  }
}

/** Refuses a table that takes more memory than allowed. */
export function checkSizes({ decoded }: Sizes, max: number): void {
  if (decoded <= max) return
  const count = (bytes: number) => Math.ceil(bytes).toLocaleString('en')
  throw invalid(
    `The Arrow data claims to take ${count(decoded)} bytes when decoded, and ${count(max)} are the most. Send it in smaller parts.`,
  )
}
