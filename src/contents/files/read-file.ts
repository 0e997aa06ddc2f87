import { closeSync, constants, fstatSync, read, readSync } from 'node:fs'
import { promisify } from 'node:util'
import type { ByteRange } from '../../base/content/content.ts'
import { clampRange } from '../../base/content/path.ts'
import { nextTurn, performance } from '../../base/time.ts'
import { systemCode } from './file-errors.ts'
import { openExisting } from './raw-file.ts'
import { Slowness } from './slowness.ts'

// A FileHandle takes 25 µs more than the calls themselves, of 70 for a small file.
const readAt = promisify(read)

/** Whether the system can refuse to open a link. */
export const canRefuseLinks = constants.O_NOFOLLOW !== undefined

/** The bytes of a file or of a part of it; undefined for anything but a file. */
export function readFile(
  file: string,
  range: ByteRange | undefined,
  links: Links,
): Promise<Uint8Array | undefined> {
  return withFile(file, links, async (handle, size) => {
    const { start, end } = clampRange(size, range)
    // A separate buffer begins at an aligned address.
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(end - start).buffer)
    if (bytes.length <= quickBytes) {
      const done = new Float64Array(1)
      await readQuickly({ handle, parts: [{ start, end }], offsets: [0], bytes, done })
      const read = done[0]!
      return bytes.subarray(0, read + (await readFully(handle, bytes.subarray(read), start + read)))
    }
    // The bytes after the first page are read first, see below.
    const split = start < pageBytes && bytes.length > largeBytes ? pageBytes - start : 0
    const last = split + (await readFully(handle, bytes.subarray(split), start + split))
    const first = await readFully(handle, bytes.subarray(0, split), start)
    return first < split ? bytes.subarray(0, first) : bytes.subarray(0, last)
  })
}

/** Parts of a file, in their order; undefined for anything but a file. They share one buffer. */
export function readRanges(
  file: string,
  ranges: readonly ByteRange[],
  links: Links,
): Promise<readonly Uint8Array[] | undefined> {
  return withFile(file, links, async (handle, size) => {
    const parts = ranges.map((range) => clampRange(size, range))
    let length = 0
    // Each part begins at an aligned address.
    const offsets = parts.map(({ start, end }) => {
      const offset = length
      length += (end - start + 7) & ~7
      return offset
    })
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer)
    const reads: PartReads = { handle, parts, offsets, bytes, done: new Float64Array(parts.length) }
    const left = await readQuickly(reads)
    if (left.length > 0) await readInThreads(reads, left)
    return offsets.map((offset, i) => bytes.subarray(offset, offset + reads.done[i]!))
  })
}

/** Reads of parts of an open file to their offsets in `bytes`. */
interface PartReads {
  readonly handle: number
  readonly parts: readonly ByteRange[]
  readonly offsets: readonly number[]
  readonly bytes: Uint8Array
  /** How many bytes of each part were read. */
  readonly done: Float64Array
}

/**
 * Small parts are mostly in the page cache, which returns each in 2 µs. A read in a thread takes 7 µs, and some 15 on a
 * busy machine: most of the time of taking scattered rows. So small parts are read synchronously, as long as they are
 * cached. After two slow reads in a row, threads read for a while.
 */
const quickBytes = 32 * 1024
const diskReads = new Slowness(0.05, 250)
/** How long parts are read before other work gets a turn of the event loop, in milliseconds. */
const longestTurn = 2

/** Reads parts from the page cache, and returns which of them are left. */
async function readQuickly({ handle, parts, offsets, bytes, done }: PartReads): Promise<number[]> {
  const left: number[] = []
  let now = performance.now()
  let turnBegan = now
  for (const [i, { start, end }] of parts.entries()) {
    const length = end - start
    if (length > quickBytes || diskReads.isSlow(now)) {
      left.push(i)
      continue
    }
    const began = now
    done[i] = readSync(handle, bytes, offsets[i]!, length, start)
    if (done[i]! > 0 && done[i]! < length) left.push(i)
    now = performance.now()
    diskReads.add(began, now)
    if (now - turnBegan < longestTurn) continue
    await nextTurn()
    now = performance.now()
    turnBegan = now
  }
  return left
}

/** The parts read in parallel. There are four threads for reads, and each finds another part when it is done. */
const readsAtOnce = 32

/** Reads the rest of parts. A promise for each would take longer than its read. */
function readInThreads(
  { handle, parts, offsets, bytes, done }: PartReads,
  left: readonly number[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    let next = 0
    let underWay = 0
    let failure: Error | undefined
    const goOn = () => {
      while (failure === undefined && underWay < readsAtOnce && next < left.length) readOn(left[next++]!)
      // The file stays open until all reads have ended.
      if (underWay > 0) return
      if (failure) reject(failure)
      else resolve()
    }
    const readOn = (i: number) => {
      const { start, end } = parts[i]!
      const at = done[i]!
      underWay++
      const length = Math.min(end - start - at, 1 << 30)
      read(handle, bytes, offsets[i]! + at, length, start + at, (error, count) => {
        underWay--
        if (error) failure ??= error
        else done[i]! += count
        if (failure === undefined && count > 0 && done[i]! < end - start) readOn(i)
        else goOn()
      })
    }
    goOn()
  })
}

type Links = 'follow' | 'refuse'

async function withFile<T>(
  file: string,
  links: Links,
  work: (handle: number, size: number) => Promise<T>,
): Promise<T | undefined> {
  const noLinks = links === 'refuse' ? constants.O_NOFOLLOW : 0
  const handle = await openExisting(file, constants.O_RDONLY | noLinks)
  try {
    // On an open file, fstat and close take microseconds. In the thread pool they would wait for other large reads.
    const stats = fstatSync(handle)
    return stats.isFile() ? await work(handle, stats.size) : undefined
  } finally {
    closeSync(handle)
  }
}

/**
 * Linux treats a read in a file's first page as the first of many, and reads ahead up to the disk's setting. This was
 * measured on a column of 4 MB at the beginning of ten files, with a setting of 8 MB. Linux reads 80 MB instead of 38
 * MB, in 120 ms instead of 55 ms. A read that begins in the second page is not affected.
 */
const pageBytes = 4096
const largeBytes = 128 * 1024

/** Fills `bytes` from a position on. Returns how many bytes were read. */
async function readFully(handle: number, bytes: Uint8Array, position: number): Promise<number> {
  let at = 0
  while (at < bytes.length) {
    const { bytesRead } = await readAt(handle, bytes, at, Math.min(bytes.length - at, 1 << 30), position + at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return at
}

/** Whether an error means that a file was not opened because it is a link. */
export function isLink(error: unknown): boolean {
  const code = systemCode(error)
  // BSDs use other codes.
  return code === 'ELOOP' || code === 'EMLINK' || code === 'EFTYPE'
}
