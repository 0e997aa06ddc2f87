import * as zlib from 'node:zlib'

export type Codec = 'lz4' | 'zstd'

/** Decompresses a frame of `length` bytes. Throws if the frame has more or fewer bytes, or is damaged. */
export type Decompress = (packed: Uint8Array, length: number) => Uint8Array

export async function loadCodecs(): Promise<Readonly<Record<Codec, Decompress>>> {
  return {
    lz4: (packed, length) => {
      const target = new Uint8Array(length)
      decompressLz4Frame(packed, target)
      return target
    },
    zstd: await loadZstd(),
  }
}

/** The request to a worker: to decompress one buffer. */
export interface DecompressRequest {
  readonly id: number
  readonly codec: Codec
  readonly packed: ArrayBuffer
  readonly length: number
}

/** The message of a worker: that it has started, or the result of a request. */
export type DecompressReply =
  | 'ready'
  | { readonly id: number; readonly bytes: Uint8Array }
  | { readonly id: number; readonly failure: string }

/**
 * Decompresses an LZ4 frame into `target`. Throws if the frame does not fill it exactly, or is damaged. Checksums are
 * not compared.
 *
 * Format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md
 */
export function decompressLz4Frame(source: Uint8Array, target: Uint8Array): void {
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
    const end = from + (size & 0x7fffffff)
    if (end > source.length) throw new Error('block is cut off')
    if (size >>> 31 === 1) {
      if (to + end - from > target.length) throw new Error('more data than announced')
      target.set(source.subarray(from, end), to)
      to += end - from
    } else {
      to = decompressLz4Block(source, from, end, target, to)
    }
    from = end + (blockChecksum ? 4 : 0)
  }
  if (to !== target.length) throw new Error('less data than announced')
}

/**
 * Decompresses a block of the source into `target` from `to` on, and returns the end position.
 *
 * Format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
 */
export function decompressLz4Block(
  source: Uint8Array,
  from: number,
  end: number,
  target: Uint8Array,
  to: number,
): number {
  while (from < end) {
    const token = source[from++]!
    let literals = token >> 4
    if (literals === 15) {
      let more: number
      do {
        more = from < end ? source[from++]! : 0
        literals += more
      } while (more === 255)
    }
    if (from + literals > end || to + literals > target.length) throw new Error('literals do not fit')
    // A call costs more than copying a few bytes.
    if (literals > 24) target.set(source.subarray(from, from + literals), to)
    else for (let i = 0; i < literals; i++) target[to + i] = source[from + i]!
    from += literals
    to += literals
    // The last sequence of a block has no match.
    if (from === end) return to
    if (from + 2 > end) throw new Error('block is cut off')
    const distance = source[from]! | (source[from + 1]! << 8)
    from += 2
    let length = (token & 15) + 4
    if (length === 19) {
      let more: number
      do {
        more = from < end ? source[from++]! : 0
        length += more
      } while (more === 255)
    }
    if (distance === 0 || distance > to || to + length > target.length) throw new Error('match does not fit')
    copyMatch(target, to, distance, length)
    to += length
  }
  return to
}

/** Repeats the `distance` bytes before `to`, for `length` bytes. */
function copyMatch(target: Uint8Array, to: number, distance: number, length: number): void {
  if (length <= 24) {
    for (let i = to; i < to + length; i++) target[i] = target[i - distance]!
    return
  }
  const start = to - distance
  // The copied bytes are part of the next copy, so each piece is twice as long.
  for (let done = 0; done < length; ) {
    const piece = Math.min(distance + done, length - done)
    target.copyWithin(to + done, start, start + piece)
    done += piece
  }
}

/**
 * Loads the decompressor: Node's own since 22.15, otherwise one in WebAssembly. For equal bytes, which give the
 * smallest frames, WebAssembly takes 8 ms for a MiB; one in JavaScript took 600 ms.
 */
async function loadZstd(): Promise<Decompress> {
  const decompress = typeof zlib.zstdDecompressSync === 'function' ? native : await inWebAssembly()
  return (packed, length) => {
    if (length === 0) return new Uint8Array(0)
    const bytes = decompress(packed, length)
    if (bytes.length !== length) throw new Error('less data than announced')
    return bytes
  }
}

function native(packed: Uint8Array, length: number): Uint8Array {
  // With one spare byte, Node needs no second buffer to detect that the frame ends.
  const options = { chunkSize: Math.max(64, length + 1), maxOutputLength: Math.max(1, length) }
  const bytes = zlib.zstdDecompressSync(packed, options)
  // A small result may be part of a memory pool.
  return bytes.byteLength < bytes.buffer.byteLength ? Uint8Array.from(bytes) : bytes
}

async function inWebAssembly(): Promise<Decompress> {
  const { ZSTDDecoder } = await import('zstddec')
  const decoder = new ZSTDDecoder()
  await decoder.init()
  // A damaged frame shows in the length of the result.
  return (packed, length) => decoder.decode(packed, length)
}

/**
 * Whether a ZSTD frame can expand to that many bytes. The frame states its size, or its blocks limit it. A few bytes
 * may expand to any number of equal bytes, but a block to 128 KiB at most.
 *
 * Format: https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1
 */
export function canHoldZstd(source: Uint8Array, length: number): boolean {
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
  if (sizeBytes === 0) return length <= bound
  const low =
    sizeBytes === 1 ? view.getUint8(sizeAt) : view.getUint16(sizeAt, true) + (sizeBytes === 2 ? 256 : 0)
  const size =
    sizeBytes < 4
      ? low
      : sizeBytes === 4
        ? view.getUint32(sizeAt, true)
        : Number(view.getBigUint64(sizeAt, true))
  return length === size && size <= bound
}
