import * as zlib from 'node:zlib'

/** Decompresses a ZSTD frame of `length` bytes. Throws if it has more or fewer. */
export type DecompressZstd = (packed: Uint8Array, length: number) => Uint8Array

/**
 * Loads the decompressor: Node's own since 22.15, otherwise one in WebAssembly. For equal bytes, which give the
 * smallest frames, WebAssembly takes 8 ms for a MiB; one in JavaScript took 600 ms.
 */
export async function loadZstd(): Promise<DecompressZstd> {
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

async function inWebAssembly(): Promise<DecompressZstd> {
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
