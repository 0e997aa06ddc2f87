/** Where in a predicate an error lies, as its message says; undefined where it does not say. */
export function errorOffset(message: string): number | undefined {
  // Quoted parts are the predicate's own words, which may look like a place.
  const own = message.replace(/"(?:[^"\\]|\\.)*"/g, '""')
  const [, offset] = /(?:\(offset |at offset )(\d+)/.exec(own) ?? []
  return offset === undefined ? undefined : Number(offset)
}

/** A predicate before, at and after the place of an error. `at` is the word there. */
export function splitAt(text: string, offset: number): { before: string; at: string; after: string } {
  const start = Math.min(offset, text.length)
  const [at = ''] = /^(\w+|[^\w\s]|\s)?/u.exec(text.slice(start)) ?? []
  return { before: text.slice(0, start), at, after: text.slice(start + at.length) }
}
