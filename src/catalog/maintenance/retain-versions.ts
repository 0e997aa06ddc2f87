import {
  type BranchRecord,
  type Head,
  keys,
  type LeavingRecord,
  recordFormat,
  retentionFormat,
  type TagRecord,
  type VersionRecord,
} from '../../base/store/records.ts'
import type { Key, Reader } from '../../base/store/store.ts'
import { requireFormat } from '../lookup/catalog-format.ts'
import { type FoundTable, identifierOf, isNameOnly, keptTableById, tableById } from '../lookup/names.ts'
import { hasOwnRule, type RetentionRule, ruleOf } from '../lookup/retention-rule.ts'
import { noteRetired } from '../lookup/retired.ts'
import { type ChangeContext, commit, unchanged } from '../transactions/commit.ts'
import type { CommitContext, TransactionSettings } from '../transactions/context.ts'
import { isPinned } from '../transactions/pins.ts'
import type { UpkeepTask, UpkeepTurn } from '../transactions/upkeep.ts'

/*
 * Retention removes old versions, as `batchDeleteTableVersions` does, by a rule of the catalog or of a table. What must
 * stay is decided in the store transaction that removes: so no tag, branch or transaction that names a version comes too
 * late. Readers get the grace period of a vacuum: for so long a version stays after it was the latest, and its files stay
 * after it was removed.
 */

/** What retention needs of its catalog. */
export interface RetainContext extends CommitContext {
  readonly settings: TransactionSettings & { readonly retention: RetentionRule | undefined }
}

/** The grace period for readers, unless a vacuum has another one. */
const graceForReaders = 3_600_000

/** The most versions that one store transaction removes, and the most that are read for it. */
const inOneStep = 250

/** Tables that are looked at in one read. */
const tablesAtOnce = 100

/** Reads in one turn of the upkeep. So a turn takes as long in a large catalog, and the next one goes on from there. */
const readsInOneTurn = 10

/** Versions of a branch that may go. */
interface Doomed {
  readonly branch: string
  readonly versions: readonly (readonly [version: number, record: VersionRecord])[]
}

/** Removes the versions that rules let go, as part of the upkeep. */
export function retainVersions(core: RetainContext): UpkeepTask {
  let after: string | undefined
  return {
    run: async ({ signal, throttled }) => {
      const options = { signal, throttled, graceMillis: graceForReaders }
      for (let read = 0; read < readsInOneTurn; read++) {
        after = (await clearSome(core, after, options)).last
        if (after === undefined) break
      }
      return false
    },
  }
}

interface RemovalOptions extends Partial<UpkeepTurn> {
  readonly dryRun?: boolean
  readonly graceMillis: number
}

/** Removes the versions that rules let go. Returns how many there were; with `dryRun`, how many there would be. */
export async function removeOldVersions(core: RetainContext, options: RemovalOptions): Promise<number> {
  let removed = 0
  let after: string | undefined
  do {
    const some = await clearSome(core, after, options)
    removed += some.removed
    after = some.last
  } while (after !== undefined)
  return removed
}

/** What became of some tables. */
interface Cleared {
  readonly removed: number
  /** The last of the tables, if others may follow. */
  readonly last: string | undefined
}

/** Removes versions of the tables that follow `after`: of as many as one read looks at. */
async function clearSome(
  core: RetainContext,
  after: string | undefined,
  { signal, throttled = (step) => step(), dryRun = false, graceMillis }: RemovalOptions,
): Promise<Cleared> {
  if (core.settings.readOnly && !dryRun) return { removed: 0, last: undefined }
  // Without a rule of the catalog, only tables with their own are looked at.
  const prefix = core.settings.retention === undefined ? keys.allRuled : keys.tablePointers
  const start = after === undefined ? {} : { start: [...prefix, after, 0] }
  const look = (reader: Reader) => {
    const range = { prefix, limit: tablesAtOnce, keysOnly: true, ...start }
    const ids = Array.from(reader.range(range), ({ key }) => String(key[1]))
    const found = ids.map((id) => [id, countIn(core, reader, id, graceMillis, dryRun)] as const)
    return { found, last: ids.length < tablesAtOnce ? undefined : ids.at(-1) }
  }
  const { found, last } = await throttled(() => core.store.read(look))
  let removed = 0
  for (const [id, count] of found) {
    signal?.throwIfAborted()
    if (dryRun) removed += count
    else if (count > 0) {
      for (let some = 1; some > 0; removed += some) {
        signal?.throwIfAborted()
        some = await throttled(() => removeSome(core, id, graceMillis))
      }
    }
  }
  return { removed, last }
}

/** How many versions of a table may go; at least one is enough unless they are to be counted. */
function countIn(core: RetainContext, reader: Reader, id: string, grace: number, counts: boolean): number {
  const table = tableById(reader, id)
  if (table === undefined) return 0
  let count = 0
  for (const { versions } of doomedOf(core, reader, table, grace, counts ? Number.POSITIVE_INFINITY : 1))
    count += versions.length
  return count
}

/** Removes some versions of a table. Returns how many. */
async function removeSome(core: RetainContext, id: string, grace: number): Promise<number> {
  const identifier = await core.store.read((reader) => {
    const table = tableById(reader, id)
    return table && identifierOf(reader, table.record)
  })
  if (identifier === undefined) return 0
  let removed = 0
  await commit(core, 'BatchDeleteTableVersions', identifier, (change) => {
    removed = 0
    const table = tableById(change.writer, id)
    if (table === undefined) return unchanged({})
    for (const doomed of doomedOf(core, change.writer, table, grace, inOneStep)) {
      retire(change, id, doomed)
      removed += doomed.versions.length
    }
    if (removed === 0) return unchanged({})
    change.noted.noteSubject(id, identifierOf(change.writer, table.record))
    return {}
  })
  return removed
}

function retire({ writer, now }: ChangeContext, table: string, { branch, versions }: Doomed): void {
  requireFormat(writer, retentionFormat)
  for (const [version, { manifest_path, manifest_size, e_tag, bases }] of versions) {
    writer.remove(keys.version(table, branch, version))
    const leaving: LeavingRecord = {
      v: recordFormat,
      at: now,
      manifest_path,
      ...(manifest_size !== undefined && { manifest_size }),
      ...(e_tag !== undefined && { e_tag }),
      ...(bases && { bases }),
    }
    writer.put(keys.leaving(table, branch, version), leaving)
  }
  const numbers = versions.map(([version]) => version)
  noteRetired(writer, table, branch, numbers, now)
}

/** The versions of a table that may go, the oldest of each branch first, and at most so many. */
function doomedOf(
  core: RetainContext,
  reader: Reader,
  { id, record }: FoundTable,
  grace: number,
  most: number,
): Doomed[] {
  const wanted = ruleOf(core.settings.retention, record.properties)
  if (wanted === undefined || isNameOnly(record)) return []
  const rule = { ...wanted, age: Math.max(grace, wanted.age ?? 0) }
  const branches: [string, Head][] = [['', record.main]]
  const begun = new Map<string, Set<number>>()
  const keep = (branch: string, version: number) => {
    if (!begun.has(branch)) begun.set(branch, new Set())
    begun.get(branch)!.add(version)
  }
  for (const { key, value } of reader.range<BranchRecord>({ prefix: keys.branches(id) })) {
    const branch = String(key[2])
    branches.push([branch, value.head])
    keep(branch, value.parent_version)
    keep(value.parent_branch, value.parent_version)
  }
  const isOld = (branch: string, head: Head) => mayHaveOld(reader, id, branch, head, rule)
  const candidates = branches.filter(([branch, head]) => isOld(branch, head))
  if (candidates.length === 0 || isPinned(reader, id)) return []
  for (const { value } of reader.range<TagRecord>({ prefix: keys.tags(id) }))
    keep(value.branch, value.version)
  const doomed: Doomed[] = []
  let left = most
  for (const [branch, head] of candidates) {
    if (left <= 0) break
    const kept = begun.get(branch) ?? new Set()
    const versions = oldIn(reader, { id, branch, head, kept }, rule, core.now(), left)
    left -= versions.length
    if (versions.length > 0) doomed.push({ branch, versions })
  }
  return doomed
}

/** Whether a branch may have a version to remove, by its oldest one: mostly there is nothing to do. */
function mayHaveOld(
  reader: Reader,
  id: string,
  branch: string,
  { latest }: Head,
  { versions = 1 }: RetentionRule,
): boolean {
  if (latest === null || latest <= versions) return false
  for (const { key } of reader.range({ prefix: keys.versions(id, branch), limit: 1, keysOnly: true }))
    return latest - Number(key[3]) >= versions
  return false
}

interface OldBranch {
  readonly id: string
  readonly branch: string
  readonly head: Head
  /** The versions that must stay. */
  readonly kept: ReadonlySet<number>
}

function oldIn(
  reader: Reader,
  { id, branch, head, kept }: OldBranch,
  rule: RetentionRule & { readonly age: number },
  now: number,
  most: number,
): [number, VersionRecord][] {
  const oldest = oldestKept(reader, id, branch, rule)
  const found: [number, VersionRecord][] = []
  let before: [number, VersionRecord] | undefined
  for (const { key, value } of reader.range<VersionRecord>({ prefix: keys.versions(id, branch) })) {
    const version = Number(key[3])
    if (before !== undefined) {
      // Times ascend, and so does the time at which each was replaced.
      if (value.timestamp_millis + rule.age > now) break
      const [number, record] = before
      if (number >= oldest) break
      // Rows of other engines are theirs to remove.
      const isOurs = record.rows !== undefined && number !== head.latest
      if (isOurs && !kept.has(number)) found.push(before)
      if (found.length >= most) break
    }
    before = [version, value]
  }
  return found
}

/** The number from which on versions stay for their number. */
function oldestKept(reader: Reader, id: string, branch: string, { versions }: RetentionRule): number {
  if (versions === undefined) return Number.POSITIVE_INFINITY
  const newest = { prefix: keys.versions(id, branch), reverse: true, keysOnly: true, limit: versions }
  let oldest = Number.POSITIVE_INFINITY
  for (const { key } of reader.range(newest)) oldest = Number(key[3])
  return oldest
}

/** Leaving versions, and marks of rules, that are read in one turn of the upkeep. */
const inOneTurn = 250

/** Forgets the versions whose files need not stay any more, and the rules of tables that have none. */
export function clearRetired({ store, now }: Pick<RetainContext, 'store' | 'now'>): UpkeepTask {
  let leavingStart: Key | undefined
  let ruledStart: Key | undefined
  return {
    run: async ({ throttled }) => {
      const until = now() - graceForReaders
      const { leaving, old, ruled, unruled } = await store.read((reader) => {
        const leaving = [
          ...reader.range<LeavingRecord>({
            prefix: keys.allLeaving,
            limit: inOneTurn,
            ...(leavingStart && { start: leavingStart }),
          }),
        ]
        const ruled = Array.from(
          reader.range({
            prefix: keys.allRuled,
            limit: inOneTurn,
            keysOnly: true,
            ...(ruledStart && { start: ruledStart }),
          }),
          ({ key }) => key,
        )
        const old = leaving.filter(({ value }) => value.at <= until).map(({ key }) => key)
        return { leaving, old, ruled, unruled: ruled.filter((key) => !isRuled(reader, key)) }
      })
      leavingStart = leaving.length < inOneTurn ? undefined : leaving.at(-1)!.key
      ruledStart = ruled.length < inOneTurn ? undefined : ruled.at(-1)
      if (old.length + unruled.length === 0) return false
      await throttled(() =>
        store.write((writer) => {
          for (const key of old) writer.remove(key)
          for (const key of unruled) if (!isRuled(writer, key)) writer.remove(key)
        }),
      )
      return old.length === inOneTurn
    },
  }
}

function isRuled(reader: Reader, [, id]: Key): boolean {
  const table = keptTableById(reader, String(id))
  return table !== undefined && hasOwnRule(table.record.properties)
}

/** Forgets the versions that were removed until a time, before a vacuum that does not spare their files. */
export async function forgetLeaving({ store }: Pick<RetainContext, 'store'>, until: number): Promise<void> {
  for (let start: Key | undefined; ; ) {
    const range = { prefix: keys.allLeaving, limit: inOneTurn, ...(start && { start }) }
    const some = await store.read((reader) => [...reader.range<LeavingRecord>(range)])
    const old = some.filter(({ value }) => value.at <= until)
    if (old.length > 0)
      await store.write((writer) => {
        for (const { key } of old) writer.remove(key)
      })
    if (some.length < inOneTurn) return
    start = some.at(-1)!.key
  }
}
