import type { Core } from '../../catalog/core.ts'
import type { Entry, Key, Reader } from '../../store/store.ts'
import { checks, type Fault, ownerId } from './record-checks.ts'
import type { Findings } from './report.ts'
import { keyParts, shapeFault, shapes } from './shapes.ts'

/** Records looked at in one transaction. */
const chunk = 500

/** Looks at every record: that it makes sense, and that it fits the others. */
export async function verifyRecords(core: Core, findings: Findings): Promise<void> {
  let after: Key | undefined
  do {
    after = await core.store.read((reader) => verifyChunk(core, reader, after, findings))
    findings.progress('records')
  } while (after)
}

/** Looks at the next records after a key; answers with the last one's, or undefined at the end. */
function verifyChunk(
  core: Core,
  reader: Reader,
  after: Key | undefined,
  findings: Findings,
): Key | undefined {
  const now = core.now()
  // The one before is there again, unless it was removed.
  const range = after === undefined ? { limit: chunk } : { start: after, limit: chunk + 1 }
  let count = 0
  let last: Key | undefined
  for (const entry of reader.range(range)) {
    count++
    if (after && sameKey(entry.key, after)) continue
    last = entry.key
    findings.counts.records++
    const found = verifyRecord(reader, entry, now)
    if (found) report(findings, reader, entry, found)
  }
  return count < range.limit ? undefined : last
}

function verifyRecord(reader: Reader, { key, value }: Entry, now: number): Fault | undefined {
  const family = String(key[0])
  if (!Object.hasOwn(shapes, family)) return { harmless: true, says: 'is of a kind that is not known here' }
  const parts = keyParts[family]
  if (parts !== undefined && key.length !== parts) return { says: `has a key of ${key.length} parts` }
  const shape = shapeFault(family, value)
  if (shape) return { says: `makes no sense: ${shape}` }
  return checks[family]?.(reader, key, value as never, now)
}

function report(findings: Findings, reader: Reader, { key, value }: Entry, { harmless, says }: Fault): void {
  const where = JSON.stringify(key)
  const id = shapeFault(String(key[0]), value) ? undefined : ownerId(reader, key, value)
  findings.add({
    severity: harmless ? 'harmless' : 'problem',
    kind: harmless ? 'leftover' : 'record',
    where,
    ...(id && { id }),
    message: `The ${names[String(key[0])] ?? 'record'} ${where} ${says}.${harmless ? '' : ' Restore the catalog from a backup, or remove what it belongs to.'}`,
  })
}

const names: Readonly<Record<string, string>> = {
  c: "catalog's record",
  n: 'name',
  s: 'namespace',
  t: 'table',
  v: 'version',
  g: 'tag',
  b: 'branch',
  x: 'transaction',
  m: 'mark',
  l: 'location',
  d: 'registration',
}

function sameKey(a: Key, b: Key): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i])
}
