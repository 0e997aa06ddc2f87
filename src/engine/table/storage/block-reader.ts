import { crc32 } from 'node:zlib'
import type { ByteRange } from '../../../base/content/content.ts'
import { type MergedRange, mergeRanges, readCostOf } from '../../../base/scheduling/merge-ranges.ts'
import { nextTurn, setImmediate } from '../../../base/time.ts'
import type { SumOfBlock } from '../format/file-parts.ts'
import { type ReadContent, uncached } from './coalesced-read.ts'
import { brokenObject } from './objects.ts'

/** Blocks whose checksums are computed in one turn of the event loop, in about a millisecond. */
const blocksAtOnce = 1_024
/** Concurrent reads if the content has no `getRanges`. */
const readsAtOnce = 8

/** An object whose bytes up to `end` have a checksum for each block. */
export interface Blocks {
  readonly path: string
  readonly bytesOfBlock: number
  readonly end: number
  readonly sumOf: SumOfBlock
}

interface ReadRequest {
  readonly start: number
  readonly runs: ArrayLike<number>
  readonly resolve: (bytes: Uint8Array) => void
  readonly reject: (error: unknown) => void
}

/**
 * Reads runs of bytes of an object by its blocks, and compares the checksum of each. Requests of one turn of the event
 * loop are read together: shared blocks once, and neighbouring blocks with one read.
 */
export class BlockReader {
  readonly #content: ReadContent
  readonly #blocks: Blocks
  #requests: ReadRequest[] = []

  constructor(content: ReadContent, blocks: Blocks) {
    this.#content = content
    this.#blocks = blocks
  }

  /** The bytes of runs, relative to `start`, joined in a new buffer. */
  read(start: number, runs: ArrayLike<number>): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      if (this.#requests.length === 0) setImmediate(() => void this.#readAll())
      this.#requests.push({ start, runs, resolve, reject })
    })
  }

  async #readAll(): Promise<void> {
    const requests = this.#requests
    this.#requests = []
    try {
      const found = await this.#readBlocks(this.#rangesOf(requests))
      for (const { start, runs, resolve } of requests) resolve(bytesOf(found, start, runs))
    } catch (error) {
      for (const { reject } of requests) reject(error)
    }
  }

  /** The ranges of the requested blocks, in order, joined where they touch. */
  #rangesOf(requests: readonly ReadRequest[]): ByteRange[] {
    const { bytesOfBlock, end, path } = this.#blocks
    const ranges: { start: number; end: number }[] = []
    for (const { start, runs } of requests) {
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
      ? [...(await content.getRanges(path, merged))]
      : await getEach(content, path, merged)
    const broken = await this.#faultsOf(read, merged, ranges)
    for (const { start, end, index } of broken) {
      // A network may have damaged the bytes in transit.
      read[index] = await uncached(content).get(path, { start, end })
    }
    const [still] = await this.#faultsOf(read, broken, ranges)
    if (still !== undefined) throw brokenObject(path, still.fault)
    return merged.map(({ start, end }, i) => ({ start, end, bytes: read[i]! }))
  }

  /** The reads whose bytes differ from the checksums of their wanted blocks. */
  async #faultsOf(
    read: readonly (Uint8Array | undefined)[],
    reads: readonly IndexedRange[],
    ranges: readonly ByteRange[],
  ): Promise<readonly FaultyRange[]> {
    const { bytesOfBlock, sumOf } = this.#blocks
    const faults: FaultyRange[] = []
    let summed = 0
    for (const [i, { start, end, parts, index = i }] of reads.entries()) {
      const bytes = read[index]
      let fault = faultOfLength(bytes, end - start)
      for (let p = 0; p < parts.length && fault === undefined; p++) {
        const range = ranges[parts[p]!]!
        for (let at = range.start; at < range.end && fault === undefined; at += bytesOfBlock) {
          const block = bytes!.subarray(at - start, Math.min(at + bytesOfBlock, range.end) - start)
          if (crc32(block) !== sumOf(at / bytesOfBlock))
            fault = 'is damaged: its checksum differs from the one it was written with'
          if (++summed % blocksAtOnce === 0) await nextTurn()
        }
      }
      if (fault !== undefined) faults.push({ start, end, parts, index, fault })
    }
    return faults
  }
}

/** A read with its index among all reads; by default its index in the list. */
type IndexedRange = MergedRange & { readonly index?: number }
type FaultyRange = MergedRange & { readonly index: number; readonly fault: string }

function faultOfLength(bytes: Uint8Array | undefined, wanted: number): string | undefined {
  if (bytes === undefined) return 'is missing'
  return bytes.length === wanted ? undefined : `is cut off: ${bytes.length} of ${wanted} bytes could be read`
}

interface ReadPart extends ByteRange {
  readonly bytes: Uint8Array
}

/** Joins ranges that touch. They must be in order. */
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
  content: ReadContent,
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

/** Copies runs of bytes, each of which is within one of the parts. */
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
