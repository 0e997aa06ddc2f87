import * as v from 'valibot'
import type { Entry, Key, Reader } from '../../../base/store/store.ts'
import type { MaintenanceContext } from '../context.ts'
import { checks, type Fault, ownerId } from './record-checks.ts'
import type { Finding, Findings } from './report.ts'

/** Records verified in one transaction. */
const chunkSize = 500

/** The result for the records of one transaction. */
interface Chunk {
  readonly records: number
  readonly findings: readonly Finding[]
  /** The key of the last record; undefined at the end. */
  readonly last: Key | undefined
}

/** Verifies that every record has the right shape, and that it fits the other records. */
export async function verifyRecords(core: MaintenanceContext, findings: Findings): Promise<void> {
  let after: Key | undefined
  do {
    const chunk = await core.store.read((reader) => verifyChunk(core, reader, after))
    // A store may run the body more than once. Only the last result counts.
    findings.counts.records += chunk.records
    for (const finding of chunk.findings) findings.add(finding)
    findings.progress('records')
    after = chunk.last
  } while (after)
}

function verifyChunk(core: MaintenanceContext, reader: Reader, after: Key | undefined): Chunk {
  const now = core.now()
  // The range begins with `after` itself, unless that record was removed.
  const range = after === undefined ? { limit: chunkSize } : { start: after, limit: chunkSize + 1 }
  const findings: Finding[] = []
  let count = 0
  let records = 0
  let last: Key | undefined
  for (const entry of reader.range(range)) {
    count++
    if (after && sameKey(entry.key, after)) continue
    last = entry.key
    records++
    const found = verifyRecord(reader, entry, now)
    if (found) findings.push(findingOf(reader, entry, found))
  }
  return { records, findings, last: count < range.limit ? undefined : last }
}

function verifyRecord(reader: Reader, { key, value }: Entry, now: number): Fault | undefined {
  const family = String(key[0])
  if (!Object.hasOwn(shapes, family))
    return { harmless: true, message: 'is of a kind that this release does not know' }
  const parts = keyParts[family]
  if (parts !== undefined && key.length !== parts) return { message: `has a key of ${key.length} parts` }
  const shape = shapeFault(family, value)
  if (shape) return { message: `has unexpected content: ${shape}` }
  return checks[family]?.(reader, key, value as never, now)
}

function findingOf(reader: Reader, { key, value }: Entry, { harmless, message }: Fault): Finding {
  const where = JSON.stringify(key)
  const family = String(key[0])
  const isKnown = Object.hasOwn(shapes, family) && shapeFault(family, value) === undefined
  const id = isKnown ? ownerId(reader, key, value) : undefined
  return {
    severity: harmless ? 'harmless' : 'problem',
    kind: harmless ? 'leftover' : 'record',
    where,
    ...(id && { id }),
    message: `The ${names[String(key[0])] ?? 'record'} ${where} ${message}.${harmless ? '' : ' Restore the catalog from a backup, or remove what it belongs to.'}`,
  }
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
  k: 'task',
  f: 'change',
  p: 'part of a change',
  w: 'count of vacuums',
  o: 'share',
  j: 'inline object',
  r: 'span of removed versions',
  u: 'removed version',
  q: 'mark of a rule',
  y: 'pin',
}

function sameKey(a: Key, b: Key): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i])
}

/* The schemas of all records, to verify records that may be damaged. Unknown members are allowed. */

const versioned = { v: v.literal(1) }
const texts = v.record(v.string(), v.string())
const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const time = v.pipe(v.number(), v.finite())
const head = v.pipe(
  v.object({ latest: v.nullable(whole), last: v.nullable(whole) }),
  v.check(
    ({ latest, last }) => latest === null || (last !== null && latest <= last),
    'has a latest version after the last',
  ),
)

const subjectChange = v.object({
  operation: v.string(),
  kind: v.picklist(['namespace', 'table']),
  id: v.array(v.string()),
  effect: v.picklist(['created', 'replaced', 'changed', 'moved', 'removed']),
})

/** Of an entry of the feed: who changed something, and by which request. */
const origin = { principal: v.optional(v.string()), request_id: v.optional(v.string()) }

/** The shape of the records of each family, by the first part of their keys. */
const shapes: Readonly<Record<string, v.GenericSchema>> = {
  c: v.object({ v: whole, id: v.string(), secret: v.string(), created_at: time }),
  n: v.union([
    v.pipe(v.string(), v.nonEmpty()),
    v.object({
      ...versioned,
      id: v.string(),
      created_at: time,
      location: v.optional(v.string()),
      properties: v.optional(texts),
      main: v.optional(head),
      registered: v.optional(v.literal(true)),
    }),
  ]),
  s: v.object({ ...versioned, parent: v.string(), name: v.string(), properties: texts, created_at: time }),
  t: v.tuple([v.string(), v.string()]),
  v: v.object({
    ...versioned,
    manifest_path: v.string(),
    manifest_size: v.optional(whole),
    e_tag: v.optional(v.string()),
    timestamp_millis: time,
    metadata: v.optional(texts),
    naming_scheme: v.optional(v.string()),
    transaction_id: v.string(),
    request_key: v.optional(v.string()),
    rows: v.optional(whole),
    bases: v.optional(v.array(v.string())),
  }),
  g: v.object({ ...versioned, branch: v.string(), version: whole }),
  b: v.object({ ...versioned, head, parent_branch: v.string(), parent_version: whole, created_at: time }),
  x: v.object({
    ...versioned,
    status: v.picklist(['Queued', 'Running', 'Succeeded', 'Failed', 'Canceled']),
    operation: v.string(),
    created_at: time,
    properties: texts,
    subject: v.array(v.string()),
    subject_id: v.optional(v.string()),
    subject_ids: v.optional(v.array(v.string())),
    finished_at: v.optional(time),
    lease_until: v.optional(time),
    failure: v.optional(v.object({ code: v.string(), message: v.string() })),
    lost: v.optional(v.object({ races: whole, at: v.array(v.string()), outlasted: whole })),
    principal: v.optional(v.string()),
    changes: v.optional(v.array(v.partial(subjectChange, ['operation', 'kind', 'id']))),
    parts: v.optional(whole),
    origin: v.optional(v.object(origin)),
  }),
  m: whole,
  l: v.union([v.string(), v.object({ ...versioned, removing: v.string(), until: time })]),
  d: v.string(),
  i: v.object({ ...versioned, path: v.string(), id: v.array(v.string()) }),
  h: v.object({ ...versioned, until: time }),
  k: v.object({ ...versioned, holder: v.string(), until: time }),
  f: v.union([
    v.string(),
    v.object({
      ...versioned,
      transaction: v.string(),
      time,
      changes: v.array(subjectChange),
      parts: v.optional(whole),
      ...origin,
    }),
  ]),
  p: v.array(subjectChange),
  a: v.union([
    v.object({
      ...versioned,
      operation: v.string(),
      request: v.string(),
      at: time,
      transaction: v.string(),
      answer: v.optional(v.string()),
    }),
    time,
  ]),
  w: whole,
  o: v.object({ ...versioned, source: v.string(), clone: v.string() }),
  j: v.object({ ...versioned, at: time, size: whole, deflated: v.string() }),
  r: v.object({ ...versioned, spans: v.array(v.object({ first: whole, last: whole, at: time })) }),
  u: v.object({
    ...versioned,
    at: time,
    manifest_path: v.string(),
    manifest_size: v.optional(whole),
    e_tag: v.optional(v.string()),
    bases: v.optional(v.array(v.string())),
  }),
  q: v.object(versioned),
  y: v.object(versioned),
}

/** How many parts the keys of each family have. Families without an entry have keys of any length. */
const keyParts: Readonly<Record<string, number>> = {
  c: 1,
  n: 4,
  s: 2,
  t: 2,
  v: 4,
  g: 3,
  b: 3,
  x: 2,
  m: 2,
  f: 2,
  i: 2,
  p: 3,
  h: 2,
  w: 1,
  r: 3,
  u: 4,
  q: 2,
  y: 3,
  o: 4,
}

/** What is wrong with the shape of a record; undefined when nothing is. */
function shapeFault(family: string, value: unknown): string | undefined {
  if (!Object.hasOwn(shapes, family)) return 'its kind is unknown'
  const result = v.safeParse(shapes[family]!, value, { abortEarly: true })
  if (result.success) return undefined
  const [issue] = result.issues
  const path = issue.path?.map(({ key }) => String(key)).join('.')
  return `${path ? `its ${path}: ` : ''}${issue.message}`
}
