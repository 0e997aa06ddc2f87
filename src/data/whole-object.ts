import type { Content } from '../content/content.ts'

/**
 * A content that reads one object whole when part of it is first asked for, and gives all parts from there.
 * To find and open a file takes longer than to read the whole of a small one.
 */
export function wholeObject(content: Content, path: string): Content {
  let whole: Promise<Uint8Array | undefined> | undefined
  return {
    async get(asked, range) {
      if (asked !== path || range === undefined) return content.get(asked, range)
      whole ??= content.get(path)
      // A copy: what is kept of the object must not keep all of it.
      return (await whole)?.slice(range.start, range.end)
    },
    put: (...given) => content.put(...given),
    list: (...given) => content.list(...given),
    remove: (...given) => content.remove(...given),
  }
}
