import { crc32 } from 'node:zlib'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { checksum, type Range } from '../storage/objects.ts'

/** Bytes per turn of the event loop when computing a checksum. */
const pieceBytes = 8 << 20

/** An Arrow file in parts. Small ranges of it are read again before it is written. */
export class FileParts {
  readonly parts: readonly Uint8Array[]
  readonly size: number
  readonly #starts: number[] = []

  constructor(parts: readonly Uint8Array[]) {
    this.parts = parts
    let at = 0
    for (const part of parts) {
      this.#starts.push(at)
      at += part.length
    }
    this.size = at
  }

  /** The end of the file, which includes the whole footer. */
  tail(): Uint8Array {
    const start = this.footerStart - 8
    return this.bytes(start, this.size - start)
  }

  /** The start of the footer. Readers find it from the file's end, so additional bytes may precede it. */
  get footerStart(): number {
    const last = this.bytes(this.size - 10, 10)
    return this.size - 10 - new DataView(last.buffer, last.byteOffset, 4).getInt32(0, true)
  }

  /** The file with additional bytes before its footer. */
  withBeforeFooter(more: Uint8Array): FileParts {
    const at = this.footerStart
    return new FileParts([...this.#within(0, at), more, ...this.#within(at, this.size - at)])
  }

  /** The checksum of each block up to `end`; the last block may be shorter. */
  async sumsOfBlocks(end: number, blockBytes: number, timeSlice: TimeSlice): Promise<Uint32Array> {
    const sums = new Uint32Array(Math.ceil(end / blockBytes))
    let block = 0
    let left = Math.min(blockBytes, end)
    let at = 0
    for (const part of this.#within(0, end)) {
      for (let from = 0; from < part.length; ) {
        const until = Math.min(part.length, from + left)
        sums[block] = crc32(part.subarray(from, until), sums[block])
        at += until - from
        left -= until - from
        from = until
        if (left > 0) continue
        block++
        left = Math.min(blockBytes, end - at)
        if ((block & 255) === 0 && timeSlice.due) await timeSlice.rest()
      }
    }
    return sums
  }

  bytes(start: number, length: number): Uint8Array {
    return Buffer.concat(this.#within(start, length))
  }

  range(start: number, length: number): Range {
    return [start, length, checksum(this.#within(start, length))]
  }

  /** As above for a range that may be long: yields to other work between pieces. */
  async longRange(start: number, length: number, timeSlice: TimeSlice): Promise<Range> {
    let sum = 0
    for (let at = start; at < start + length; at += pieceBytes) {
      sum = checksum(this.#within(at, Math.min(pieceBytes, start + length - at)), sum)
      if (timeSlice.due) await timeSlice.rest()
    }
    return [start, length, sum]
  }

  /** The checksum of the whole file. */
  checksum(): number {
    return checksum(this.parts)
  }

  /** The checksum of all bytes outside of some ranges. */
  restOf(ranges: readonly Range[]): number {
    const parts: Uint8Array[] = []
    let at = 0
    for (const [start, length] of ranges) {
      parts.push(...this.#within(at, start - at))
      at = start + length
    }
    return checksum([...parts, ...this.#within(at, this.size - at)])
  }

  #within(start: number, length: number): Uint8Array[] {
    const found: Uint8Array[] = []
    const end = start + length
    let low = 0
    for (let high = this.parts.length; low < high; ) {
      const middle = (low + high) >> 1
      if (this.#starts[middle]! + this.parts[middle]!.length <= start) low = middle + 1
      else high = middle
    }
    for (let i = low; i < this.parts.length && this.#starts[i]! < end; i++) {
      const at = this.#starts[i]!
      found.push(this.parts[i]!.subarray(Math.max(0, start - at), Math.max(0, end - at)))
    }
    return found
  }
}

/*
 * A file has a checksum for each of its blocks, so that some rows can be read and checked without the rest of their
 * columns. The checksums are between the Arrow file's last message and its footer, where no Arrow reader looks.
 */

/** Bytes of a block: the least that a disk and the system's cache read. */
export const blockBytes = 4_096

/** Bytes from which on a file has checksums of its blocks. Smaller files are read as quickly by whole columns. */
const minBytes = 256 * 1024

/** Adds checksums of its blocks to a file, and returns their position. A small file is unchanged. */
export async function withBlockSums(
  file: FileParts,
  timeSlice: TimeSlice,
): Promise<{ readonly file: FileParts; readonly blocks?: Range }> {
  if (file.size < minBytes) return { file }
  const at = file.footerStart
  const sums = await file.sumsOfBlocks(at, blockBytes, timeSlice)
  const bytes = new Uint8Array((sums.byteLength + 7) & ~7)
  const view = new DataView(bytes.buffer)
  for (const [i, sum] of sums.entries()) view.setUint32(i * 4, sum, true)
  const grown = file.withBeforeFooter(bytes)
  return { file: grown, blocks: grown.range(at, bytes.length) }
}

/** The checksum of a block by its number; undefined if there is no such block. */
export type SumOfBlock = (block: number) => number | undefined

/** Decodes what `withBlockSums` wrote. */
export function readBlockSums(bytes: Uint8Array): SumOfBlock {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return (block) => (block * 4 + 4 <= bytes.length ? view.getUint32(block * 4, true) : undefined)
}
