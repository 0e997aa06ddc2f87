import type { Content } from '../../content/content.ts'

/** The contents below those that coalesce reads. */
const origins = new WeakMap<Content, Content>()

/** The content that reads each time anew. */
export function originOf(content: Content): Content {
  return origins.get(content) ?? content
}

interface Part {
  readonly start: number
  readonly end: number
}

/**
 * A content that coalesces all reads of one object, or of a part of it: the first read fetches the whole part, and all
 * reads are answered from that. Finding and opening a small file takes longer than reading all of it.
 */
export function coalesceReads(content: Content, path: string, part?: Part): Content {
  const { start, end } = part ?? { start: 0, end: Infinity }
  let read: Promise<Uint8Array | undefined> | undefined
  const coalesced: Content = {
    async get(asked, range) {
      if (asked !== path || range === undefined || range.start < start || range.end > end) {
        return content.get(asked, range)
      }
      read ??= content.get(path, part)
      const bytes = await read
      const found = bytes?.subarray(range.start - start, range.end - start)
      // A small view would keep all bytes in memory, so it is copied. A view of most bytes is not.
      return found && found.length * 2 > bytes!.length ? found : found?.slice()
    },
    put: (...given) => content.put(...given),
    list: (...given) => content.list(...given),
    remove: (...given) => content.remove(...given),
  }
  origins.set(coalesced, content)
  return coalesced
}
