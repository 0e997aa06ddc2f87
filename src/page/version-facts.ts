import type { Identifier } from '../base/model/identifier.ts'
import type { Description } from './model/description.ts'
import type { VersionFacts } from './model/difference.ts'
import { post } from './server.ts'

/** A branch of a table, which has versions. The location identifies the table among those of the same name. */
export interface History {
  readonly id: Identifier
  readonly location: string
  readonly branch: string | undefined
}

/** A cache of versions, which are immutable. Drops the oldest entries. */
const known = new Map<string, Promise<VersionFacts>>()
const maxKnown = 1_000
let activeFetches = 0
const waiting: (() => void)[] = []

/** What is known of a version. It is fetched once, and few are fetched at a time. */
export function factsOf(history: History, version: number): Promise<VersionFacts> {
  const key = JSON.stringify([history, version])
  let facts = known.get(key)
  if (facts === undefined) {
    facts = fetchFacts(history, version)
    facts.catch(() => known.delete(key))
    known.set(key, facts)
    const [oldest] = known.keys()
    if (known.size > maxKnown) known.delete(oldest!)
  }
  return facts
}

async function fetchFacts({ id, branch }: History, version: number): Promise<VersionFacts> {
  if (activeFetches >= 4) await new Promise<void>((resolve) => waiting.push(resolve))
  activeFetches++
  try {
    const body = { version, branch }
    const { schema, stats, metadata } = await post<Description>('table', id, 'describe', {
      query: { load_detailed_metadata: true },
      body,
    })
    const rows = schema && (await post<number>('table', id, 'count_rows', { body }))
    return { version, rows, deletedRows: stats?.num_deleted_rows, fields: schema?.fields, metadata }
  } finally {
    activeFetches--
    waiting.shift()?.()
  }
}
