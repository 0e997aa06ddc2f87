/** Part of an object: the bytes from `start` up to `end`. */
interface ByteRange {
  readonly start: number
  readonly end: number
}

/** Parts that one request reads, as indexes into the requested parts. */
export interface MergedRange extends ByteRange {
  readonly parts: readonly number[]
}

/** The largest gap between two parts that one request reads. Its transfer takes about as long as another request. */
const requestCost = 1 << 20
/** The same where each part is a call that opens a file, or copies. */
const callCost = 64 << 10
/** From this read cost on, a content is read over a network. */
const networkCost = 256 << 10
/** The largest merged request in bytes. Beyond it, two parallel requests are faster. */
const maxMerged = 8 << 20

interface Readable {
  readonly readCost?: number | undefined
  readonly getRanges?: unknown
}

/** How many bytes are read in the time that one more read of a content takes. */
export function readCostOf({ readCost, getRanges }: Readable): number {
  return readCost ?? (getRanges === undefined ? callCost : requestCost)
}

/** Whether each read of a content is a request over a network. */
export function isRemote(content: Readable): boolean {
  return readCostOf(content) >= networkCost
}

/**
 * Merges nearby parts of an object. A read has at most as many unneeded bytes as needed ones, or as `readCost`. The
 * merged ranges are in the order of the object.
 */
export function mergeRanges(ranges: readonly ByteRange[], readCost = requestCost): MergedRange[] {
  const merged: MergedRange[] = []
  let last: { start: number; end: number; wanted: number; parts: number[] } | undefined
  const inOrder = ranges.map(({ start, end }, part) => ({ start, end, part }))
  for (const { start, end, part } of inOrder.sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (last !== undefined) {
      const until = Math.max(last.end, end)
      const wanted: number = last.wanted + Math.max(0, until - Math.max(last.end, start))
      const size = until - last.start
      const isInside = end <= last.end
      const isNear = start - last.end <= readCost && size - wanted <= Math.max(readCost, wanted)
      if (isInside || (isNear && size <= maxMerged)) {
        last.end = until
        last.wanted = wanted
        last.parts.push(part)
        continue
      }
    }
    last = { start, end, wanted: end - start, parts: [part] }
    merged.push(last)
  }
  return merged
}
