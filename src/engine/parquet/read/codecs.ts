import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { snappyUncompress } from 'hyparquet/src/snappy.js'
import { readVarInt } from 'hyparquet/src/thrift.js'
import { type Decompress, decompressLz4Block, loadCodecs } from '../../arrow/ipc/codecs.ts'
import { unreadable } from '../damage.ts'

/** Decompresses a page to as many bytes as it claims. Throws if it has others. */
export type { Decompress }

const builtIn: Readonly<Record<string, Decompress>> = {
  UNCOMPRESSED: (packed) => packed,
  SNAPPY: (packed, length) => {
    // The library does not look at the length before the data.
    if (readVarInt({ view: viewOf(packed), offset: 0 }) !== length) throw new Error('another length')
    const bytes = new Uint8Array(length)
    snappyUncompress(packed, bytes)
    return bytes
  },
  GZIP: (packed, length) => gunzipSync(packed, { maxOutputLength: Math.max(1, length) }),
  BROTLI: (packed, length) => brotliDecompressSync(packed, { maxOutputLength: Math.max(1, length) }),
  LZ4_RAW: (packed, length) => {
    const bytes = new Uint8Array(length)
    if (decompressLz4Block(packed, 0, packed.length, bytes, 0) !== length)
      throw new Error('less data than announced')
    return bytes
  },
  LZ4: hadoopLz4,
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

let zstd: Promise<Decompress> | undefined

/** The decompressor of a codec, by its name in Parquet. */
export async function decompressorOf(codec: string, column: string): Promise<Decompress> {
  if (codec === 'ZSTD') {
    zstd ??= loadCodecs().then((codecs) => codecs.zstd)
    return zstd
  }
  const found = Object.hasOwn(builtIn, codec) ? builtIn[codec] : undefined
  if (found === undefined) {
    const known = [...Object.keys(builtIn), 'ZSTD'].join(', ')
    throw unreadable(`compresses column ${column} with ${codec}`, `Write it with one of ${known}.`)
  }
  return found
}

/**
 * The codec LZ4 of old writers: blocks, each after its two lengths. Others wrote one block alone.
 *
 * Source: https://github.com/apache/parquet-format/blob/master/Compression.md#lz4
 */
function hadoopLz4(packed: Uint8Array, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  const view = viewOf(packed)
  let done = 0
  let at = 0
  while (at + 8 <= packed.length) {
    const [plain, size] = [view.getUint32(at), view.getUint32(at + 4)]
    at += 8
    if (at + size > packed.length || done + plain > length) return alone(packed, bytes)
    try {
      if (decompressLz4Block(packed, at, at + size, bytes, done) !== done + plain) return alone(packed, bytes)
    } catch {
      return alone(packed, bytes)
    }
    at += size
    done += plain
  }
  return at === packed.length && done === length ? bytes : alone(packed, bytes)
}

function alone(packed: Uint8Array, bytes: Uint8Array): Uint8Array {
  if (decompressLz4Block(packed, 0, packed.length, bytes, 0) !== bytes.length)
    throw new Error('less data than announced')
  return bytes
}
