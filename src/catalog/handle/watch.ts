import { invalid } from '../../base/errors.ts'
import { identifierProblem } from '../../base/model/identifier.ts'
import { type OptionNames, requireKnown } from '../../base/model/options.ts'
import { affectsSubject, type SubjectChange } from '../../base/model/subject-change.ts'
import { isAllowed } from '../operations/framework/authorize.ts'
import { ownCopy } from '../operations/framework/run.ts'
import { visibleChanges } from '../operations/framework/visible-changes.ts'
import type { FeedEntry, Position } from '../transactions/feed.ts'
import type { Core } from './core.ts'
import { itemsOf } from './iteration/items.ts'
import type { Changes, CommittedChange, WatchRequest } from './watch-types.ts'

const names: OptionNames<WatchRequest> = {
  id: true,
  since: true,
  signal: true,
  identity: true,
  context: true,
}

/** Goes over what is committed, from a token or from now on. */
export function watchChanges(core: Core, request: WatchRequest = {}): Changes {
  const { feed } = core
  let position: Position | undefined
  let beginning: Promise<Position> | undefined
  const begin = () => {
    beginning ??= (async () => {
      position = await beginningOf(core, request)
      return position
    })()
    return beginning
  }
  const items = itemsOf(async function* (signal) {
    const release = feed.watched()
    try {
      await begin()
      for (;;) {
        const mark = feed.mark
        const entries = await feed.after(position!)
        for (const entry of entries) {
          const changes = await wanted(core, request, entry)
          signal.throwIfAborted()
          if (feed.closing.aborted) return undefined
          position = entry.position
          if (changes.length > 0) yield committedChange(core, entry, changes)
        }
        if (entries.length === 0) await feed.changed(mark, signal)
        signal.throwIfAborted()
        if (feed.closing.aborted) return undefined
      }
    } catch (error) {
      // The store may have been closed during a read.
      if (feed.closing.aborted) return undefined
      throw error
    } finally {
      release()
    }
  }, request?.signal)
  const changes: Changes = Object.assign(items, {
    token: async () => {
      await begin()
      return feed.tokenOf(position!)
    },
  }) as Changes
  return changes
}

async function beginningOf({ feed }: Core, request: WatchRequest): Promise<Position> {
  requireKnown('watch', request, names)
  const { id, since } = request
  if (id !== undefined) {
    const isList = Array.isArray(id) && id.every((name) => typeof name === 'string')
    const problem = isList ? identifierProblem(id) : 'must be a list of names'
    if (problem) throw invalid(`watch: the identifier ${problem}.`)
  }
  if (since === undefined) return feed.end()
  const position = feed.positionOf(since)
  // A position that no longer exists fails now, and not with the next change.
  await feed.after(position)
  return position
}

/** The changes of an entry that concern the request, and that its caller may know. */
async function wanted(
  { settings }: Core,
  request: WatchRequest,
  { changes }: FeedEntry,
): Promise<readonly SubjectChange[]> {
  const { id = [] } = request
  const { authorize } = settings
  const concerned = id.length === 0 ? changes : changes.filter((change) => affectsSubject(change, id))
  if (authorize === undefined || concerned.length === 0) return concerned
  return visibleChanges(concerned, (operation, subject) =>
    isAllowed(authorize, operation, { ...request, id: subject }),
  )
}

function committedChange(
  { feed }: Core,
  { position, record }: FeedEntry,
  changes: readonly SubjectChange[],
): CommittedChange {
  const { time, transaction, principal, request_id } = record
  return {
    token: feed.tokenOf(position),
    timestamp_millis: time,
    transaction_id: transaction,
    ...(principal !== undefined && { principal }),
    ...(request_id !== undefined && { request_id }),
    changes: ownCopy(changes) as readonly SubjectChange[],
  }
}
