import { type AnswerRecord, keys, type TransactionRecord } from '../../base/store/records.ts'
import type { Entry, Key, Reader, Store, Value } from '../../base/store/store.ts'
import { performance } from '../../base/time.ts'
import { answerAge } from './answers.ts'
import type { TransactionSettings } from './context.ts'
import { lapsedOf } from './lapsed.ts'
import { entryOutline, type OldEntry, removeEntry, type StoredEntry } from './recorded-changes.ts'
import { hasLapsed, isFinished } from './transaction-record.ts'
import type { UpkeepTask, UpkeepTurn } from './upkeep.ts'

/*
 * Old transaction records are removed after a fixed number of changes. A count of all records would take longer the
 * more there are. So a process writes a mark each time, and the marks are counted. Records older than enough marks are
 * removed.
 */

/** What clearing old records needs of its catalog. */
interface RetentionContext {
  readonly store: Store
  readonly now: () => number
  readonly settings: TransactionSettings
}

/** Records that are read and removed at once: few, since changes of users may share a commit with them. */
const inOneStep = 250

/** The most records that are read in one turn. */
const inOneTurn = 5_000

/** A step stops to read after this many milliseconds: records of large batches take a millisecond each. */
const readMillis = 5

/** The oldest records of a range: those before the first one to keep, as far as one step reads them. */
interface Oldest<T> {
  readonly old: readonly Entry<T>[]
  /** Whether there may be more of them. */
  readonly hasMore: boolean
}

/** Reads the oldest records. `limit` is two or more, as the first one may be the last one of the step before. */
function readOldest<T extends Value>(
  reader: Reader,
  range: { readonly prefix: Key; readonly start?: Key | undefined; readonly limit: number },
  isOld: (entry: Entry<T>) => boolean,
): Oldest<T> {
  const { prefix, start, limit } = range
  const until = performance.now() + readMillis
  const old: Entry<T>[] = []
  for (const entry of reader.range<T>({ prefix, limit, ...(start && { start }) })) {
    if (!isOld(entry)) return { old, hasMore: false }
    old.push(entry)
    if (old.length > 1 && performance.now() > until) return { old, hasMore: true }
  }
  return { old, hasMore: old.length === limit }
}

/** How many records the steps of a turn read. Usually the oldest record is to be kept, so the first steps read few. */
function* stepSizes(): Generator<number> {
  for (let left = inOneTurn, size = 2; left > 0; left -= size, size = Math.min(inOneStep, 4 * size))
    yield size
}

/** Whether there are so many surplus records that changes add them faster than throttled steps remove them. */
function isBehind(surplus: number, wanted: number): boolean {
  return surplus > wanted / 4
}

/**
 * Removes old records in small steps. A step reads in a transaction of its own, before the one that removes: a finished
 * transaction stays finished. So no other change conflicts with the removal.
 */
async function removeOldTransactions(
  core: RetentionContext,
  { signal, throttled }: UpkeepTurn,
): Promise<boolean> {
  const { surplusEnd, unneeded, isLarge } = await core.store.read((reader) =>
    surplus(reader, core.settings.transactionCount),
  )
  let marks = unneeded
  let start: Key | undefined
  for (const limit of stepSizes()) {
    signal.throwIfAborted()
    const now = core.now()
    const horizon = now - core.settings.transactionAge
    const isOld = ({ key, value }: Entry<TransactionRecord>) =>
      value.created_at < horizon || (surplusEnd !== undefined && String(key[1]) <= surplusEnd)
    const range = { prefix: keys.transactions, start, limit }
    const { old, hasMore } = await core.store.read((reader) => readOldest(reader, range, isOld))
    // Those in the feed go with their entries.
    const isLoose = ({ value }: Entry<TransactionRecord>) =>
      isFinished(value.status) && value.changes === undefined
    const finished = old.filter(isLoose)
    const lapsed = old.filter(({ value }) => hasLapsed(value, now))
    if (finished.length + lapsed.length + marks.length > 0) {
      await throttled(
        () =>
          core.store.write((writer) => {
            for (const { key } of finished) writer.remove(key)
            // Their processes may be alive, and may have renewed their leases.
            const ids = lapsed.map(({ key }) => String(key[1]))
            for (const id of lapsedOf(writer, ids, core.now())) writer.remove(keys.transaction(id))
            for (const key of marks) writer.remove(key)
          }),
        isLarge,
      )
      marks = []
    }
    if (!hasMore) return false
    start = old.at(-1)!.key
  }
  return true
}

interface Surplus {
  /** The newest id among the surplus records. */
  readonly surplusEnd?: string
  /** The marks that are no longer needed. */
  readonly unneeded: Key[]
  readonly isLarge: boolean
}

function surplus(reader: Reader, transactionCount: number): Surplus {
  let counted = 0
  let surplusEnd: string | undefined
  const unneeded: Key[] = []
  for (const { key, value } of reader.range<number>({ prefix: keys.marks, reverse: true })) {
    if (surplusEnd !== undefined) unneeded.push(key)
    else if (counted >= transactionCount) surplusEnd = String(key[1])
    counted += value
  }
  const isLarge = isBehind(counted - transactionCount, transactionCount)
  return { ...(surplusEnd !== undefined && { surplusEnd }), unneeded, isLarge }
}

/** Clears old transaction records. */
export function clearTransactions(core: RetentionContext): UpkeepTask {
  return {
    run: (turn) => removeOldTransactions(core, turn),
    hasMore: (reader) => surplus(reader, core.settings.transactionCount).unneeded.length > 0,
  }
}

/**
 * Removes feed entries with their transactions in small steps: those older than transaction records may become, and the
 * surplus. The last entry stays: the number of the next one follows from it.
 */
async function removeOldEntries(core: RetentionContext, { signal, throttled }: UpkeepTurn): Promise<boolean> {
  const { transactionAge, transactionCount } = core.settings
  for (const limit of stepSizes()) {
    signal.throwIfAborted()
    const horizon = core.now() - transactionAge
    let tooMany = 0
    const outlines = new Map<Key, OldEntry>()
    const { old, hasMore } = await core.store.read((reader): Oldest<StoredEntry> => {
      const [last] = reader.range({ prefix: keys.feed, reverse: true, limit: 1, keysOnly: true })
      if (last === undefined) return { old: [], hasMore: false }
      const surplusEnd = Number(last.key[1]) - transactionCount
      const isOld = ({ key, value }: Entry<StoredEntry>) => {
        const outline = entryOutline(reader, value)
        outlines.set(key, outline)
        return key[1] !== last.key[1] && (outline.time < horizon || Number(key[1]) <= surplusEnd)
      }
      const oldest = readOldest(reader, { prefix: keys.feed, limit }, isOld)
      tooMany = oldest.old.length > 0 ? surplusEnd - Number(oldest.old[0]!.key[1]) : 0
      return oldest
    })
    if (old.length > 0) {
      await throttled(
        () =>
          core.store.write((writer) => {
            for (const { key } of old) removeEntry(writer, key, outlines.get(key)!)
          }),
        isBehind(tooMany, transactionCount),
      )
    }
    if (!hasMore) return false
  }
  return true
}

/** Clears old entries of the feed, with their transactions. */
export function clearFeed(core: RetentionContext): UpkeepTask {
  return {
    run: (turn) => removeOldEntries(core, turn),
    hasMore: (reader) => {
      const [oldest] = reader.range({ prefix: keys.feed, limit: 1, keysOnly: true })
      const [last] = reader.range({ prefix: keys.feed, reverse: true, limit: 1, keysOnly: true })
      const surplusEnd = Number(last?.key[1]) - core.settings.transactionCount
      return oldest !== undefined && oldest.key[1] !== last?.key[1] && Number(oldest.key[1]) <= surplusEnd
    },
  }
}

/** Removes answers that are kept by idempotency keys, in small steps: those that are too old, and the surplus. */
async function removeOldAnswers(core: RetentionContext, { signal, throttled }: UpkeepTurn): Promise<boolean> {
  for (const limit of stepSizes()) {
    signal.throwIfAborted()
    const horizon = core.now() - answerAge
    const { old, hasMore, isLarge } = await core.store.read((reader) => {
      const { surplusEnd, isLarge } = surplus(reader, core.settings.transactionCount)
      const isOld = ({ key, value }: Entry<number>) =>
        value <= horizon || (surplusEnd !== undefined && String(key[2]) <= surplusEnd)
      return { ...readOldest(reader, { prefix: keys.answerTimes, limit }, isOld), isLarge }
    })
    if (old.length > 0) {
      const remove = () =>
        core.store.write((writer) => {
          for (const { key } of old) {
            writer.remove(key)
            // A later request may have taken a key whose day was over.
            const answer = keys.answer(String(key[3]))
            if (writer.get<AnswerRecord>(answer)?.transaction === key[2]) writer.remove(answer)
          }
        })
      await throttled(remove, isLarge)
    }
    if (!hasMore) return false
  }
  return true
}

/** Clears old answers. */
export function clearAnswers(core: RetentionContext): UpkeepTask {
  return { run: (turn) => removeOldAnswers(core, turn) }
}
