import { keys, type RetiredRecord, type RetiredSpan, recordFormat } from '../../base/store/records.ts'
import type { Reader, Writer } from '../../base/store/store.ts'

/*
 * What retention removed is remembered with each branch, as spans of numbers: so whoever asks for such a version learns
 * why it is gone. The oldest spans become one where there are many, which can happen only where many versions stay
 * between them.
 */

const mostSpans = 100

/** Notes that retention removed versions, whose numbers ascend. */
export function noteRetired(
  writer: Writer,
  table: string,
  branch: string,
  versions: readonly number[],
  at: number,
): void {
  const key = keys.retired(table, branch)
  const spans = [...(writer.get<RetiredRecord>(key)?.spans ?? [])]
  for (const version of versions) {
    const before = spans.at(-1)
    if (before !== undefined && before.at === at && before.last === version - 1)
      spans.splice(-1, 1, { ...before, last: version })
    else spans.push({ first: version, last: version, at })
  }
  spans.sort((a, b) => a.first - b.first)
  while (spans.length > mostSpans) {
    const [one, two] = spans
    const at = Math.max(one!.at, two!.at)
    spans.splice(0, 2, { first: one!.first, last: Math.max(one!.last, two!.last), at })
  }
  writer.put(key, { v: recordFormat, spans })
}

/** The spans of versions that retention removed from a branch. */
export function retiredSpans(reader: Reader, table: string, branch: string): readonly RetiredSpan[] {
  return reader.get<RetiredRecord>(keys.retired(table, branch))?.spans ?? []
}

/** When retention removed a version, if it did. */
export function retiredAt(
  reader: Reader,
  table: string,
  branch: string,
  version: number,
): number | undefined {
  return retiredSpans(reader, table, branch).find(({ first, last }) => version >= first && version <= last)
    ?.at
}
