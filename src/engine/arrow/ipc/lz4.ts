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
      to = decompressBlock(source, from, end, target, to)
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
function decompressBlock(
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
