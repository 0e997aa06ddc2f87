import { invalid } from '../../errors.ts'
import { damaged } from './body.ts'

/** Decompresses buffers, up to a limit for all of them together. */
export type Decompress = (bytes: Uint8Array, codec: 'lz4' | 'zstd', column: string) => Uint8Array

type Lz4 = typeof import('lz4js')

/**
 * Loads codecs and returns a function that decompresses the buffers of Arrow messages, to `limit` bytes in all. Without
 * a limit, a small message could ask for any amount of memory.
 */
export async function loadDecompress(
  codecs: ReadonlySet<'lz4' | 'zstd'>,
  limit: number,
): Promise<Decompress> {
  const lz4 = codecs.has('lz4') ? await import('lz4js') : undefined
  const zstd = codecs.has('zstd') ? await import('fzstd') : undefined
  let left = limit
  return (bytes, codec, column) => {
    // Each buffer begins with its decompressed length, or with −1 when it is not compressed.
    if (bytes.length < 8) throw damaged(column, 'has a compressed buffer without its length')
    const length = Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigInt64(0, true))
    const packed = bytes.subarray(8)
    if (length === -1) return packed
    if (length < 0) throw damaged(column, 'has a compressed buffer of negative length')
    // The check comes before any memory is allocated.
    if (length > mostBytes(packed, codec, column)) {
      throw damaged(column, 'has a compressed buffer that cannot be as long as it says')
    }
    left -= length
    if (left < 0) {
      throw invalid(
        `The Arrow data takes more than ${limit} bytes when decompressed. Send it in smaller parts.`,
      )
    }
    const target = new Uint8Array(length)
    try {
      if (codec === 'lz4') {
        decompressLz4Frame(packed, target, lz4!)
      } else if (zstd!.decompress(packed, target).length !== length) {
        throw new Error('wrong length')
      }
    } catch (cause) {
      throw damaged(column, `has a buffer that is not valid ${codec.toUpperCase()} data`, { cause })
    }
    return target
  }
}

/** The most bytes that a compressed buffer can hold. */
function mostBytes(packed: Uint8Array, codec: 'lz4' | 'zstd', column: string): number {
  // No sequence of LZ4 gives more than 255 bytes for one.
  if (codec === 'lz4') return packed.length * 255
  try {
    return mostZstdBytes(packed)
  } catch (cause) {
    throw damaged(column, 'has a buffer that is not valid ZSTD data', { cause })
  }
}

/**
 * The size that a ZSTD frame states, or the most that its blocks can hold. A few bytes may stand for any number of equal
 * bytes, but a block holds at most 128 KiB.
 *
 * Format: https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1
 */
function mostZstdBytes(source: Uint8Array): number {
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength)
  if (view.getUint32(0, true) !== 0xfd2fb528) throw new Error('no ZSTD frame')
  const flags = view.getUint8(4)
  const single = (flags & 0x20) !== 0
  const sizeBytes = [single ? 1 : 0, 2, 4, 8][flags >> 6]!
  const sizeAt = 5 + (single ? 0 : 1) + [0, 1, 2, 4][flags & 3]!
  let blocks = 0
  for (let at = sizeAt + sizeBytes, last = false; !last; ) {
    const head = view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
    last = (head & 1) === 1
    const kind = (head >> 1) & 3
    at += 3 + (kind === 1 ? 1 : head >> 3)
    if (kind === 3 || at > source.length) throw new Error('block is cut off')
    blocks++
  }
  const bound = blocks * 131_072
  if (sizeBytes === 0) return bound
  const low =
    sizeBytes === 1 ? view.getUint8(sizeAt) : view.getUint16(sizeAt, true) + (sizeBytes === 2 ? 256 : 0)
  const size =
    sizeBytes < 4
      ? low
      : sizeBytes === 4
        ? view.getUint32(sizeAt, true)
        : Number(view.getBigUint64(sizeAt, true))
  return Math.min(size, bound)
}

/**
 * Decompresses an LZ4 frame into `target`, which the frame must fill exactly. The frame is parsed here because the
 * library neither checks the lengths of blocks nor expects their checksums in the right place.
 *
 * Format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md
 */
function decompressLz4Frame(source: Uint8Array, target: Uint8Array, lz4: Lz4): void {
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength)
  if (view.getUint32(0, true) !== 0x184d2204) throw new Error('no LZ4 frame')
  const flags = view.getUint8(4)
  if (flags >> 6 !== 1) throw new Error('unknown version of the LZ4 frame')
  const blockChecksum = (flags & 0x10) !== 0
  let from = 7 + ((flags & 0x08) !== 0 ? 8 : 0) + ((flags & 0x01) !== 0 ? 4 : 0)
  let to = 0
  while (true) {
    const size = view.getUint32(from, true)
    from += 4
    if (size === 0) break
    const length = size & 0x7fffffff
    if (from + length > source.length) throw new Error('block is cut off')
    if (size >>> 31 === 1) {
      target.set(source.subarray(from, from + length), to)
      to += length
    } else {
      to = lz4.decompressBlock(source, target, from, length, to)
    }
    if (!(to <= target.length)) throw new Error('more data than announced')
    from += length + (blockChecksum ? 4 : 0)
  }
  if (to !== target.length) throw new Error('less data than announced')
}
