import type { ByteRange, Content } from '../../../base/content/content.ts'
import { queueMicrotask } from '../../../base/time.ts'

/**
 * A content that coalesces all reads of one object, or of a part of it: the first read fetches the whole part, which
 * then serves all reads. Finding and opening a small file takes longer than reading all of it.
 */
export function coalesceReads(content: ReadContent, path: string, part?: ByteRange): ReadContent {
  const { start, end } = part ?? { start: 0, end: Infinity }
  let read: Promise<Uint8Array | undefined> | undefined
  return {
    uncached: uncached(content),
    async get(asked, range) {
      if (asked !== path || range === undefined || range.start < start || range.end > end) {
        return content.get(asked, range)
      }
      read ??= content.get(path, part)
      const bytes = await read
      const found = bytes?.subarray(range.start - start, range.end - start)
      // A small view would keep all bytes in memory, so it is copied. A view of most bytes is not.
      return found && found.length * 2 <= bytes!.length ? new Uint8Array(found) : found
    },
  }
}

interface Asked extends ByteRange {
  readonly resolve: (bytes: Promise<Uint8Array | undefined>) => void
}

/**
 * A content that batches reads of parts of one object: those of one turn of the event loop share a `getRanges` call, if
 * the content supports it. There, each single read would be a request.
 */
export function gatherReads(content: ReadContent, path: string): ReadContent {
  if (content.getRanges === undefined) return content
  let gathered: Asked[] = []
  const fetchAll = () => {
    const asked = gathered
    gathered = []
    const ranges = asked.map(({ start, end }) => ({ start, end }))
    const all = content.getRanges!(path, ranges)
    for (const [i, { resolve }] of asked.entries()) resolve(all.then((found) => found[i]))
  }
  return {
    uncached: uncached(content),
    get(asked, range) {
      if (asked !== path || range === undefined) return content.get(asked, range)
      return new Promise((resolve) => {
        if (gathered.length === 0) queueMicrotask(fetchAll)
        gathered.push({ ...range, resolve })
      })
    },
  }
}

/** The content without caches. */
export function uncached(content: ReadContent): ReadContent {
  return content.uncached ?? content
}

/** The part of a content that tables are read from. */
export interface ReadContent extends Pick<Content, 'url' | 'get' | 'getRanges' | 'readCost'> {
  readonly uncached?: ReadContent | undefined
}
