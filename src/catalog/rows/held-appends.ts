import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { keys, recordFormat, type TransactionRecord, type VersionRecord } from '../../base/store/records.ts'
import type { Store, Writer } from '../../base/store/store.ts'
import type { RowsInput, RowsSource } from '../../engine/arrow/types.ts'
import type { Change, MatchedRows, Snapshot } from '../../engine/table/index.ts'
import { afterChange, type ChangeContext } from '../transactions/commit.ts'
import { succeed } from '../transactions/long-transaction.ts'
import { commitDraft } from './attempt.ts'
import { findToChange, type Start } from './change.ts'
import type { RowsChange, RowsStep, TableToWrite } from './change-types.ts'
import { clientRules } from './client-rules.ts'
import type { Append, Appends, Held, RowsOptions, StagedRowsContext } from './context.ts'
import { areSmall, checkRows } from './input.ts'
import { declaredOnly, versionOf } from './rows.ts'

/*
 * Inside of a transaction over many operations, small inserts into one branch are held, and become one version. The first
 * one stages the version with a record that names no manifest yet. Any other operation, and the commit, first writes the
 * rows and completes the record. So nothing ever reads the incomplete one, and conflicts are noticed as they would be
 * without all this.
 */

const operation = 'InsertIntoTable'

const maxAttempts = 100

/** An insert whose rows take more is written at once. */
const mostOfInsert = 256 * 1024

/** All held inserts of a transaction. They are in memory. */
const mostBytes = 1024 * 1024
const mostInserts = 1_000

/** What an insert takes in memory besides its rows. */
const bytesOfInsert = 1_000

interface HeldInsert {
  readonly core: StagedRowsContext
  readonly transactionId: string
  readonly now: number
  readonly at: number
  readonly rows: MatchedRows
}

interface Prepared {
  change: Change | undefined
}

/** The held inserts into one branch. */
interface Group {
  readonly id: Identifier
  readonly start: Start
  /** Partial reads, so that the head may move until the commit. */
  readonly store: Store
  readonly found: TableToWrite
  readonly inserts: HeldInsert[]
  /** Resolves when the version is staged; to false if it could not be. */
  staged: Promise<boolean>
  step: RowsStep | undefined
}

export interface HeldOptions {
  /** Stops the transaction. */
  readonly signal: AbortSignal
  /** Throws when the transaction may not hold so many bytes more. */
  readonly requireRoom: (bytes: number) => void
  /** Called when rows could not be written: their inserts were answered, so the transaction must not commit. */
  readonly failed: (error: Error) => void
}

/** The inserts of a transaction that are answered, and whose rows are not written yet. */
export class HeldAppends implements Appends {
  readonly #options: HeldOptions
  readonly #groups = new Map<string, Group>()
  #bytes = 0
  #inserts = 0
  /** How many operations are under way that must not meet a held insert. */
  #others = 0
  #flushing: Promise<void> | undefined

  constructor(options: HeldOptions) {
    this.#options = options
  }

  /** About how many bytes the held rows take. */
  get bytes(): number {
    return this.#bytes
  }

  async hold(core: StagedRowsContext, append: Append, options: RowsOptions): Promise<Held | undefined> {
    if (this.#others > 0 || this.#flushing || !mayHold(append.data, options)) return undefined
    try {
      let held = await this.#hold(core, append, options)
      // Others outside may commit again meanwhile.
      for (let n = 1; held === 'moved' && n < maxAttempts; n++) held = await this.#hold(core, append, options)
      return held === 'moved' ? undefined : held
    } catch {
      return undefined
    }
  }

  alone<T>(work: () => Promise<T>): Promise<T> {
    this.#others++
    const isIdle = this.#groups.size === 0 && this.#flushing === undefined
    const result = isIdle ? work() : this.flush().then(work)
    const done = () => {
      this.#others--
    }
    result.then(done, done)
    return result
  }

  /** Writes all held rows. */
  flush(): Promise<void> {
    const groups = [...this.#groups.values()]
    this.#groups.clear()
    this.#bytes = 0
    this.#inserts = 0
    if (groups.length === 0) return this.#flushing ?? Promise.resolve()
    const before = this.#flushing
    const flushing = Promise.all([before, ...groups.map((group) => this.#write(group))]).then(
      () => {},
      (error) => {
        this.#options.failed(error)
        throw error
      },
    )
    this.#flushing = flushing
    const done = () => {
      if (this.#flushing === flushing) this.#flushing = undefined
    }
    flushing.then(done, done)
    return flushing
  }

  async #hold(
    core: StagedRowsContext,
    { id, branch, data }: Append,
    options: RowsOptions,
  ): Promise<Held | 'moved' | undefined> {
    const key = JSON.stringify([id, branch])
    const known = this.#groups.get(key)
    const { start, store } = known ?? (await find(core, id, branch))
    if (start.base === undefined) return undefined
    // The caller may change its own bytes as soon as it has the answer.
    const own = Array.isArray(data) ? data : new Uint8Array(data as Uint8Array)
    // Others may drop a column that the rows lack.
    const pending = await checkRows(core, own, start.base.schema, options, { partial: true })
    const { rows: table } = await pending.build({ signal: options.signal })
    const rows = await start.engine.matchRows(start.base, table, { signal: options.signal })
    const bytes = rows.bytes + bytesOfInsert
    if (bytes > mostOfInsert || this.#bytes + bytes > mostBytes || this.#inserts >= mostInserts)
      return undefined
    this.#options.requireRoom(this.#bytes + bytes)
    const group = this.#groups.get(key) ?? groupOf(core, id, { start, store })
    // Another operation began meanwhile. No await from here to the entry in the map.
    if (this.#others > 0 || this.#flushing || group.start.base !== start.base) return undefined
    const transactionId = core.newId()
    const insert = { core, transactionId, now: core.now(), at: core.staging.nextOrdinal(), rows }
    group.inserts.push(insert)
    if (group.inserts.length === 1) {
      this.#groups.set(key, group)
      group.staged = stage(group, insert, branch)
    }
    this.#bytes += bytes
    this.#inserts++
    if (!(await group.staged.catch(() => false))) {
      if (this.#groups.get(key) === group) this.#groups.delete(key)
      return 'moved'
    }
    await afterChange(core, transactionId)
    return { version: start.head.version, affected: rows.rows, transaction_id: transactionId }
  }

  /** Writes the rows of a group, and completes the record of their version. */
  async #write(group: Group): Promise<void> {
    if (!(await group.staged.catch(() => false))) return
    const { found, inserts, store, start, step } = group
    const { signal } = this.#options
    const { version } = start.head
    const prepared = step!.prepared as Prepared
    const change = await found.engine.insertMatched(start.base!, rowsOf(inserts), { signal })
    const { snapshot, affected } = await change.apply(start.base!, { signal, version })
    await found.engine.sync()
    const [first, ...others] = inserts
    await store.write((writer) => {
      const key = keys.version(found.table.id, step!.change.branch, version)
      // The time is that of the record so far, which is no earlier than that of the version before.
      const { timestamp_millis } = writer.get<VersionRecord>(key)!
      writer.put(key, versionOf(snapshot, first!.transactionId, timestamp_millis))
      // The feed names the version once, where the first insert is.
      for (const insert of others) {
        recordInsert(writer, group, insert, ({ noted }) => {
          noted.noteSubject(found.table.id, group.id)
          return true
        })
      }
    })
    prepared.change = change
    step!.manifest = snapshot.manifest.path
    step!.affected = affected
  }
}

function mayHold(data: RowsInput | RowsSource, options: RowsOptions): boolean {
  // A listener learns the id of each transaction as it begins.
  if (options.onProgress || options[clientRules]) return false
  return areSmall(data)
}

async function find(
  core: StagedRowsContext,
  id: Identifier,
  branch: string,
): Promise<Pick<Group, 'start' | 'store'>> {
  const { store } = core.staging.partialReads()
  return { start: await findToChange({ ...core, store }, { id, branch }), store }
}

function groupOf(
  core: StagedRowsContext,
  id: Identifier,
  { start, store }: Pick<Group, 'start' | 'store'>,
): Group {
  const engine = start.engine.writtenBy(
    core.staging.transactionId,
    core.staging.inlineOf(start.folder.content),
  )
  return {
    id,
    start,
    store,
    found: { ...start, engine },
    inserts: [],
    staged: Promise.resolve(false),
    step: undefined,
  }
}

/** Stages the version of a group, with its first insert. Resolves to false if the head has moved. */
async function stage(group: Group, insert: HeldInsert, branch: string): Promise<boolean> {
  const { found, start, store, inserts, id } = group
  const { base, head } = start
  const unwritten: Snapshot = { ...base!, manifest: { path: '', size: 0, etag: '' } }
  const record = versionOf(unwritten, insert.transactionId, insert.now)
  const { version } = head
  const to = { current: { branch, version, record }, version: version + 1 }
  const transaction = {
    id: insert.transactionId,
    recorded: Promise.resolve(),
    releaseSlot: () => {},
    commit: <T>(body: (change: ChangeContext) => T | undefined) =>
      store.write((writer) => recordInsert(writer, group, insert, body)),
  }
  const step = {
    change: changeOf(id, branch, inserts),
    found,
    prepared: { change: undefined } satisfies Prepared,
    transactionId: insert.transactionId,
    version,
    manifest: '',
    affected: 0,
  }
  const attempt = { ...step, inline: undefined, transaction, work: {} }
  const draft = { from: head, to, base, changed: { snapshot: unwritten, affected: 0 } }
  const { made } = await commitDraft(attempt, draft)
  if (made === undefined) return false
  group.step = step
  insert.core.staging.changed(step)
  return true
}

/** The inserts as one change, for a rebase. */
function changeOf(
  id: Identifier,
  branch: string,
  inserts: readonly HeldInsert[],
): RowsChange<undefined, Prepared> {
  return {
    operation,
    id,
    branch,
    prepare: () => ({ change: undefined }),
    apply: async ({ engine }, prepared, current, work) => {
      if (current === undefined) throw declaredOnly(id)
      const write = () => engine.insertMatched(current, rowsOf(inserts), { signal: work.signal })
      prepared.change ??= await write()
      try {
        return await prepared.change.apply(current, work)
      } catch (error) {
        if (!(error instanceof CatalogError && error.code === 'ConcurrentModification')) throw error
        // The columns changed meanwhile. The rows are written for those that there are now.
        prepared.change = await write()
        return prepared.change.apply(current, work)
      }
    },
  }
}

function rowsOf(inserts: readonly HeldInsert[]): MatchedRows[] {
  return inserts.map(({ rows }) => rows)
}

/** Records an insert as succeeded, and what its body changes. */
function recordInsert<T>(
  writer: Writer,
  { id, found }: Group,
  { core, transactionId, now, at }: HeldInsert,
  body: (change: ChangeContext) => T | undefined,
): T | undefined {
  const record: TransactionRecord = {
    v: recordFormat,
    status: 'Running',
    operation,
    subject: [...id],
    subject_id: found.table.id,
    created_at: now,
    properties: {},
  }
  return succeed(core, writer, record, { transactionId, now, at }, body)
}
