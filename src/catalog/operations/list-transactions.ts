import * as v from 'valibot'
import { type CatalogError, unsupported } from '../../base/errors.ts'
import {
  choice,
  limit,
  nextPageToken,
  pageToken,
  requestFields,
  responseFields,
  stringMap,
  text,
  version,
} from '../../base/model/fields.ts'
import type { Position } from '../../base/model/page-token.ts'
import type { SubjectChange } from '../../base/model/subject-change.ts'
import { keys, type TransactionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import { PageItems, readPage } from '../listing/paging.ts'
import { LapsesToRecord, withRecordedLapses } from '../transactions/lapsed.ts'
import { changesIn } from '../transactions/recorded-changes.ts'
import { type Asking, areShown, transactionStatuses } from '../transactions/transaction-record.ts'
import { principalOf } from './framework/inside.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'
import { visibleChange } from './framework/visible-changes.ts'

const status = v.picklist(transactionStatuses)

const change = v.object({
  operation: text,
  kind: v.picklist(['namespace', 'table']),
  id: v.array(text),
  effect: v.picklist(['created', 'replaced', 'changed', 'moved', 'removed']),
  to: v.optional(v.array(text)),
  versions: v.optional(v.array(v.object({ branch: v.optional(text), first: version, last: version }))),
})

const transaction = v.object({
  transaction_id: text,
  status,
  operation: text,
  subject: v.array(text),
  created_at: text,
  finished_at: v.optional(text),
  failure: v.optional(text),
  failure_code: v.optional(text),
  properties: stringMap,
  changes: v.optional(v.array(change)),
  num_changes: v.optional(version),
})

/** The most changes of one transaction that are listed. */
const maxChanges = 5

type Listed = v.InferOutput<typeof transaction>

/**
 * Lists transactions, the newest first, a page at a time: those under way, and those that ended and are still recorded.
 * `status` asks for some statuses only, and `since_millis` for those that began then or later. A page may be short, or
 * empty, and still have a `page_token`: one request looks at a few thousand records at most.
 *
 * `changes` has what a transaction that succeeded changed, in the form of the feed: five at most, of `num_changes`. Both
 * are left out where there are more than its record holds, as of a large batch.
 *
 * Not part of the protocol. Transactions of `beginTransaction` are listed for the caller who began them, and for
 * callers without a name. With hooks, other transactions are listed for callers who may describe their subjects.
 *
 * ```ts
 * const { transactions } = await catalog.listTransactions({ status: ['Queued', 'Running'] })
 * for (const { transaction_id, operation, subject } of transactions) …
 * ```
 */
export const listTransactions = operation({
  name: 'listTransactions',
  summary: 'List transactions, the newest first.',
  request: v.object({
    ...requestFields,
    status: v.nullish(
      v.pipe(
        v.array(choice(...transactionStatuses), 'must be a list of statuses, such as ["Running"]'),
        v.nonEmpty('is empty; name a status, or leave it out for all'),
        v.maxLength(16, 'must hold at most 16 statuses'),
      ),
    ),
    since_millis: v.nullish(version),
    page_token: pageToken,
    limit: v.nullish(limit),
  }),
  response: v.object({ ...responseFields, transactions: v.array(transaction), page_token: nextPageToken }),
  // `Unsupported`, which it throws only inside of transactions, is not listed: an operation that lists it alone counts
  // as unsupported.
  errors: [],
  changes: false,
  route: post('/v1/transaction/list'),
  command: {
    group: 'Transactions and batches',
    aliases: ['transactions'],
    lists: { field: 'transactions', item: 'transaction' },
    examples: ['./catalog --limit 20', './catalog --status queued,running'],
  },
  run: async (core, request) => {
    if (core.staging) throw listedInside()
    const { status, since_millis, page_token, limit } = request
    const wanted = {
      statuses: status ? new Set(status) : undefined,
      since: since_millis ?? 0,
      caller: principalOf(request),
      access: core.access,
    }
    const listing = ['transactions', status ? [...new Set(status)].sort() : null, since_millis ?? null]
    const { items, ...more } = await withRecordedLapses(core, (hasEnded) =>
      readPage(core, { listing, page_token, limit }, (reader, after, size) =>
        pageOfTransactions(reader, after, size, { ...wanted, hasEnded }),
      ),
    )
    return { transactions: [...items], ...more }
  },
})

/** The commit would compare every listed record, and other changes write such records all the time. */
function listedInside(): CatalogError {
  return unsupported(
    'Transactions cannot be listed inside of a transaction: its commit would fail whenever others change anything.',
    'List them outside of it.',
  )
}

interface Wanted extends Asking {
  readonly statuses: ReadonlySet<string> | undefined
  /** In milliseconds since 1970. */
  readonly since: number
  /** Whether the lease of a transaction has ended, which must be recorded before it is listed. */
  readonly hasEnded: (record: TransactionRecord) => boolean
}

/** The most records that one page reads when it leaves some out. */
const maxLookedAt = 2_000

/**
 * Records lie in the order of their ids, and so of time, as far as the clocks of processes agree. A record that is
 * older by this is followed by older ones only.
 */
const clockSlack = 60_000

function pageOfTransactions(
  reader: Reader,
  after: Position | undefined,
  size: number,
  wanted: Wanted,
): { items: readonly Listed[]; next?: Position } {
  const { statuses, since, hasEnded } = wanted
  const page = new PageItems<Listed>(size)
  const takesAll = statuses === undefined && wanted.access === undefined
  const most = takesAll ? Math.min(size + 1, maxLookedAt) : maxLookedAt
  const end = after?.[0] === undefined ? {} : { end: keys.transaction(String(after[0])) }
  const range = { prefix: keys.transactions, reverse: true, limit: most, ...end }
  const looked: { readonly id: string; readonly record: TransactionRecord }[] = []
  let isOver = false
  for (const { key, value } of reader.range<TransactionRecord>(range)) {
    isOver = value.created_at < since - clockSlack
    if (isOver) break
    looked.push({ id: String(key[1]), record: value })
  }
  const lapsed = looked.filter(({ record }) => hasEnded(record))
  if (lapsed.length > 0) throw new LapsesToRecord(lapsed.map(({ id }) => id))
  const asked = looked.filter(
    ({ record }) => record.created_at >= since && (statuses === undefined || statuses.has(record.status)),
  )
  const shown = areShown(
    reader,
    asked.map(({ record }) => record),
    wanted,
  )
  const shownOnes = asked.filter((_, index) => shown[index])
  const changes = visibleOf(
    shownOnes.slice(0, size + 1).map(({ record }) => changesIn(record)),
    wanted.access,
  )
  const listings = new Map(shownOnes.map(({ id, record }, at) => [id, listed(id, record, changes[at] ?? [])]))
  let position: Position = after ?? []
  for (const { id } of looked) {
    const listing = listings.get(id)
    if (listing !== undefined && !page.add(listing)) return { items: page.items, next: position }
    position = [id]
  }
  return isOver || looked.length < most ? { items: page.items } : { items: page.items, next: position }
}

/** The changes of several transactions, as the caller may see them. */
function visibleOf(
  changes: readonly (readonly SubjectChange[])[],
  access: Asking['access'],
): readonly (readonly SubjectChange[])[] {
  if (access === undefined) return changes
  // In one call, so that the hooks of all changes run together.
  const subjects = changes.flat().flatMap(({ kind, id, to = id }) => [
    { kind, id },
    { kind, id: to },
  ])
  const answers = access.mayRead(subjects)
  let from = 0
  return changes.map((some) =>
    some.flatMap((change) => {
      const [mayReadId, mayReadTo] = answers.slice(from, from + 2)
      from += 2
      return visibleChange(change, mayReadId === true, mayReadTo) ?? []
    }),
  )
}

function listed(id: string, record: TransactionRecord, changes: readonly SubjectChange[]): Listed {
  const { finished_at, failure } = record
  return {
    transaction_id: id,
    status: record.status,
    operation: record.operation,
    subject: [...record.subject],
    created_at: new Date(record.created_at).toISOString(),
    ...(finished_at !== undefined && { finished_at: new Date(finished_at).toISOString() }),
    ...(failure && { failure: failure.message, failure_code: failure.code }),
    properties: record.properties,
    ...(changes.length > 0 && {
      changes: changes.slice(0, maxChanges).map(listedChange),
      num_changes: changes.length,
    }),
  }
}

function listedChange({
  operation,
  kind,
  id,
  effect,
  to,
  versions,
}: SubjectChange): v.InferOutput<typeof change> {
  return {
    operation,
    kind,
    id: [...id],
    effect,
    ...(to !== undefined && { to: [...to] }),
    ...(versions !== undefined && { versions: versions.map((span) => ({ ...span })) }),
  }
}
