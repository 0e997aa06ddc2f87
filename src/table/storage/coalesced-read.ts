import type { Content } from '../../content/content.ts'

interface Part {
  readonly start: number
  readonly end: number
}

/**
 * A content that reads one object, or a part of it, in one go when something in there is first asked for, and gives
 * everything in there from that. To find and open a file takes longer than to read the whole of a small one.
 */
export function oneRead(content: Content, path: string, part?: Part): Content {
  const { start, end } = part ?? { start: 0, end: Infinity }
  let read: Promise<Uint8Array | undefined> | undefined
  return {
    async get(asked, range) {
      if (asked !== path || range === undefined || range.start < start || range.end > end) {
        return content.get(asked, range)
      }
      read ??= content.get(path, part)
      const bytes = await read
      const found = bytes?.subarray(range.start - start, range.end - start)
      // A copy, as what is kept of an object must not keep all of it; of what is nearly all, none is made.
      return found && found.length * 2 > bytes!.length ? found : found?.slice()
    },
    put: (...given) => content.put(...given),
    list: (...given) => content.list(...given),
    remove: (...given) => content.remove(...given),
  }
}
