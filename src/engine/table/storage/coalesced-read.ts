import type { ByteRange, Content } from '../../../base/content/content.ts'
import { queueMicrotask } from '../../../base/time.ts'

/**
 * A content that coalesces all reads of one object, or of a part of it: the first read fetches the whole part, which
 * then serves all reads. Finding and opening a small file takes longer than reading all of it.
 */
export function coalesceReads(content: Content, path: string, part?: ByteRange): Content {
  const { start, end } = part ?? { start: 0, end: Infinity }
  let read: Promise<Uint8Array | undefined> | undefined
  return readingBy(content, async (asked, range) => {
    if (asked !== path || range === undefined || range.start < start || range.end > end) {
      return content.get(asked, range)
    }
    read ??= content.get(path, part)
    const bytes = await read
    const found = bytes?.subarray(range.start - start, range.end - start)
    // A small view would keep all bytes in memory, so it is copied. A view of most bytes is not.
    return found && found.length * 2 > bytes!.length ? found : found?.slice()
  })
}

interface Asked extends ByteRange {
  readonly resolve: (bytes: Promise<Uint8Array | undefined>) => void
}

/**
 * A content that batches reads of parts of one object: those of one turn of the event loop share a `getRanges` call, if
 * the content supports it. There, each single read would be a request.
 */
export function gatherReads(content: Content, path: string): Content {
  if (content.getRanges === undefined) return content
  let gathered: Asked[] = []
  const fetchAll = () => {
    const asked = gathered
    gathered = []
    const ranges = asked.map(({ start, end }) => ({ start, end }))
    const all = content.getRanges!(path, ranges)
    for (const [i, { resolve }] of asked.entries()) resolve(all.then((found) => found[i]))
  }
  return readingBy(content, (asked, range) => {
    if (asked !== path || range === undefined) return content.get(asked, range)
    return new Promise((resolve) => {
      if (gathered.length === 0) queueMicrotask(fetchAll)
      gathered.push({ ...range, resolve })
    })
  })
}

/** The content with another way to read. `uncached` bypasses it, and all caches. */
function readingBy(content: Content, get: Content['get']): Content {
  return {
    get,
    put: (...given) => content.put(...given),
    list: (...given) => content.list(...given),
    remove: (...given) => content.remove(...given),
    uncached: uncached(content),
  }
}

/** The content without caches. */
export function uncached(content: Content): Content {
  return content.uncached ?? content
}
