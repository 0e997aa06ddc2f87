import { setImmediate } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import type { ByteRange, Content } from '../../content/content.ts'
import { mergeRanges, readCostOf } from '../../scheduling/merge-ranges.ts'
import type { SumOfBlock } from '../format/blocks.ts'
import { uncached } from './coalesced-read.ts'
import { brokenObject, readChecked } from './objects.ts'

/** Blocks that are summed in one turn of the event loop, in about a millisecond. */
const blocksAtOnce = 1_024
/** Reads under way at once where the content does not read many by itself. */
const readsAtOnce = 8

/** An object whose bytes up to `end` have a checksum for each block. */
export interface Blocks {
  readonly path: string
  readonly bytesOfBlock: number
  readonly end: number
  readonly sumOf: SumOfBlock
}

interface Asked {
  readonly start: number
  readonly runs: ArrayLike<number>
  readonly resolve: (bytes: Uint8Array) => void
  readonly reject: (error: unknown) => void
}

/**
 * Reads runs of bytes of an object by its blocks, and compares the checksum of each. What is asked for in one turn of the
 * event loop is read together: blocks that several ask for once, and blocks that lie near each other by one read.
 */
export class BlockReader {
  readonly #content: Content
  readonly #blocks: Blocks
  #asked: Asked[] = []

  constructor(content: Content, blocks: Blocks) {
    this.#content = content
    this.#blocks = blocks
  }

  /** The bytes of runs, counted from `start` on, one after the other in a buffer of their own. */
  read(start: number, runs: ArrayLike<number>): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      if (this.#asked.length === 0) setImmediate().then(() => this.#readAll())
      this.#asked.push({ start, runs, resolve, reject })
    })
  }

  async #readAll(): Promise<void> {
    const asked = this.#asked
    this.#asked = []
    try {
      const found = await this.#readBlocks(this.#rangesOf(asked))
      for (const { start, runs, resolve } of asked) resolve(bytesOf(found, start, runs))
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }

  /** The ranges of blocks that were asked for, in the order of the object; none touches another one. */
  #rangesOf(asked: readonly Asked[]): ByteRange[] {
    const { bytesOfBlock, end, path } = this.#blocks
    const ranges: { start: number; end: number }[] = []
    for (const { start, runs } of asked) {
      let last: { start: number; end: number } | undefined
      for (let i = 0; i < runs.length; i += 2) {
        const first = start + runs[i]!
        const until = start + runs[i + 1]!
        if (until === first) continue
        if (until > end) throw brokenObject(path, 'is not the Arrow file that the manifest describes')
        const from = first - (first % bytesOfBlock)
        const to = Math.min(end, Math.ceil(until / bytesOfBlock) * bytesOfBlock)
        if (last !== undefined && from >= last.start && from <= last.end) last.end = Math.max(last.end, to)
        else {
          last = { start: from, end: to }
          ranges.push(last)
        }
      }
    }
    ranges.sort((a, b) => a.start - b.start)
    return joined(ranges)
  }

  async #readBlocks(ranges: readonly ByteRange[]): Promise<readonly ReadPart[]> {
    const content = this.#content
    const merged = mergeRanges(ranges, readCostOf(content))
    const { path } = this.#blocks
    const read = content.getRanges
      ? await content.getRanges(path, merged)
      : await getEach(content, path, merged)
    const found: ReadPart[] = []
    let summed = 0
    for (const [i, range] of merged.entries()) {
      const parts = range.parts.map((part) => ranges[part]!)
      const bytes = await readChecked(async (again) => {
        const bytes = again ? await uncached(content).get(path, range) : read[i]
        for (const part of parts) {
          for (let at = part.start; at < part.end; at += this.#blocks.bytesOfBlock) {
            this.#check(bytes, range, at)
            if (++summed % blocksAtOnce === 0) await setImmediate()
          }
        }
        return bytes!
      })
      found.push({ start: range.start, end: range.end, bytes })
    }
    return found
  }

  /** Compares the checksum of the block at `at`. */
  #check(bytes: Uint8Array | undefined, range: ByteRange, at: number): void {
    const { path, bytesOfBlock, end, sumOf } = this.#blocks
    if (bytes === undefined) throw brokenObject(path, 'is missing')
    const { length } = bytes
    const wanted = range.end - range.start
    if (length !== wanted) throw brokenObject(path, `is cut off: ${length} of ${wanted} bytes could be read`)
    const from = at - range.start
    const block = bytes.subarray(from, Math.min(from + bytesOfBlock, end - range.start))
    if (crc32(block) !== sumOf(at / bytesOfBlock))
      throw brokenObject(path, 'is damaged: its checksum differs from the one it was written with')
  }
}

interface ReadPart extends ByteRange {
  readonly bytes: Uint8Array
}

/** Ranges in order, those that touch as one. */
function joined(ranges: readonly { start: number; end: number }[]): ByteRange[] {
  const all: { start: number; end: number }[] = []
  for (const range of ranges) {
    const last = all.at(-1)
    if (last !== undefined && range.start <= last.end) last.end = Math.max(last.end, range.end)
    else all.push(range)
  }
  return all
}

async function getEach(
  content: Content,
  path: string,
  ranges: readonly ByteRange[],
): Promise<(Uint8Array | undefined)[]> {
  const found: (Uint8Array | undefined)[] = []
  let next = 0
  const readOn = async () => {
    while (next < ranges.length) {
      const i = next++
      found[i] = await content.get(path, { start: ranges[i]!.start, end: ranges[i]!.end })
    }
  }
  await Promise.all(Array.from({ length: Math.min(readsAtOnce, ranges.length) }, readOn))
  return found
}

/** Runs of bytes, each of which lies in one of the parts. */
function bytesOf(parts: readonly ReadPart[], start: number, runs: ArrayLike<number>): Uint8Array {
  let size = 0
  for (let i = 0; i < runs.length; i += 2) size += runs[i + 1]! - runs[i]!
  const all = new Uint8Array(size)
  let to = 0
  let part = 0
  for (let i = 0; i < runs.length; i += 2) {
    const from = start + runs[i]!
    const length = runs[i + 1]! - runs[i]!
    if (length === 0) continue
    if (!(parts[part]!.start <= from && from < parts[part]!.end)) part = partAt(parts, from)
    const { start: first, bytes } = parts[part]!
    const at = from - first
    if (length > 32) all.set(bytes.subarray(at, at + length), to)
    else for (let k = 0; k < length; k++) all[to + k] = bytes[at + k]!
    to += length
  }
  return all
}

function partAt(parts: readonly ReadPart[], at: number): number {
  let low = 0
  for (let high = parts.length - 1; low < high; ) {
    const middle = (low + high + 1) >> 1
    if (parts[middle]!.start <= at) low = middle
    else high = middle - 1
  }
  return low
}
