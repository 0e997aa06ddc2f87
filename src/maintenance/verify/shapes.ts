import * as v from 'valibot'

/*
 * What records look like, for those who do not trust them. Members that are not known here are let pass.
 */

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

/** The shape of the records of each family, by the first part of their keys. */
export const shapes: Readonly<Record<string, v.GenericSchema>> = {
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
    rows: v.optional(whole),
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
    finished_at: v.optional(time),
    lease_until: v.optional(time),
    failure: v.optional(v.object({ code: v.string(), message: v.string() })),
  }),
  m: whole,
  l: v.union([v.string(), v.object({ ...versioned, removing: v.string(), until: time })]),
  d: v.string(),
  h: v.object({ ...versioned, until: time }),
}

/** How many parts the keys of each family have; as many as they like where it is not told. */
export const keyParts: Readonly<Record<string, number>> = {
  c: 1,
  n: 4,
  s: 2,
  t: 2,
  v: 4,
  g: 3,
  b: 3,
  x: 2,
  m: 2,
  h: 2,
}

/** What is wrong with the shape of a record, if anything is. */
export function shapeFault(family: string, value: unknown): string | undefined {
  const result = v.safeParse(shapes[family]!, value, { abortEarly: true })
  if (result.success) return undefined
  const [issue] = result.issues
  const path = issue.path?.map(({ key }) => String(key)).join('.')
  return `${path ? `its ${path}: ` : ''}${issue.message}`
}
