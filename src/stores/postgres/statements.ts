import { CatalogError } from '../../base/errors.ts'
import type { Changes } from './access.ts'
import { isNumbered, prefixesOfBytes, prefixOfNumbered } from './key-bytes.ts'
import type { Locks } from './locks.ts'
import type { RecordCache } from './record-cache.ts'
import { digestOf, noRows, type PieceRead, type PieceRows, type Reads, View } from './view.ts'

/*
 * The statements for the database. They use no prepared statements, and no settings beyond the end of a transaction. So
 * they work through a pooler that gives each transaction another connection.
 */

export interface Statement {
  readonly text: string
  readonly values?: readonly unknown[]
}

/**
 * A row of an answer. Part −1 has the database's time in milliseconds as its version. Part 0 is a record. Higher parts
 * belong to the pieces, in the given order. The first row of a piece has no key.
 */
export type Row = readonly [part: number, key: Buffer | null, value: string | null, version: string | null]

/** How long a transaction waits for its locks, and how long a statement may take, in milliseconds. */
const lockMillis = 10_000
const statementMillis = 60_000

/** The database ends a transaction of a silent client; sooner if others wait for it. */
const silenceMillis = 15_000
const lockSilenceMillis = 2_000

const boundsOf = (silence: number) =>
  `SET LOCAL statement_timeout = ${statementMillis}; SET LOCAL idle_in_transaction_session_timeout = ${silence}`
const bounds = boundsOf(silenceMillis)
const lockBounds = `${boundsOf(lockSilenceMillis)}; SET LOCAL lock_timeout = ${lockMillis}`

/** A quoted identifier. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A qualified name in the catalog's schema. */
export function named(schema: string, name: string): string {
  return `${quoted(schema)}.${name}`
}

/** A dollar-quoted function body, with a tag that the body does not contain. */
export function dollarQuoted(text: string): string {
  let tag = '$$'
  // A name within the text may contain any tag.
  for (let n = 1; text.includes(tag); n++) tag = `$body${n}$`
  return tag + text + tag
}

/** Begins to read one snapshot. */
export const beginSnapshotRead: Statement = {
  text: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${bounds}`,
}

/** Begins to read, for engines without locks of writers. */
export const beginSerializableRead: Statement = {
  text: `BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY; ${bounds}`,
}

/** A commit returns once it is on disk, even where the settings of users or databases say otherwise. */
const synchronously = `SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)`

/**
 * Begins a change that reads while it holds its locks. The table lock is taken before the transaction has a snapshot,
 * and each later statement sees all commits before the lock.
 */
export function beginLocked(schema: string, locks: Locks | undefined): Statement {
  const begun = `BEGIN ISOLATION LEVEL READ COMMITTED; ${lockBounds}; ${synchronously}`
  const turns = named(schema, 'turns')
  if (locks === undefined)
    return {
      text: `${begun}; LOCK TABLE ${turns} IN EXCLUSIVE MODE; SELECT ${named(schema, 'number_records')}()`,
    }
  // One list: its functions are called in order.
  const taken = locks.names.map(([first, second], i) =>
    locks.areExclusive[i]
      ? `pg_advisory_xact_lock(${first}, ${second})`
      : `pg_advisory_xact_lock_shared(${first}, ${second})`,
  )
  return { text: `${begun}; LOCK TABLE ${turns} IN ROW SHARE MODE; SELECT ${taken.join(', ')}` }
}

/** Begins to number records, and to read in the same snapshot. A long read may be silent for longer. */
export function beginNumbering(schema: string, hasTurns: boolean, isLong = false): Statement {
  const numbered = `SELECT ${named(schema, 'number_records')}()`
  if (!hasTurns)
    return { text: `BEGIN ISOLATION LEVEL SERIALIZABLE; ${bounds}; ${synchronously}; ${numbered}` }
  const limits = isLong ? `${bounds}; SET LOCAL lock_timeout = ${lockMillis}` : lockBounds
  const turn = `LOCK TABLE ${named(schema, 'turns')} IN ROW SHARE MODE; LOCK TABLE ${named(schema, 'numbering')} IN EXCLUSIVE MODE`
  return { text: `BEGIN ISOLATION LEVEL REPEATABLE READ; ${limits}; ${turn}; ${synchronously}; ${numbered}` }
}

/**
 * Waits for these locks, and holds them until the end of the transaction. All processes take them in the same order,
 * which avoids deadlocks. The isolation level does not matter, as nothing is read.
 */
export function awaitTurn(locks: readonly bigint[]): Statement {
  const ordered = locks.toSorted((a, b) => (a < b ? -1 : 1))
  const taken = ordered.map((lock) => `SELECT pg_advisory_xact_lock(${lock})`)
  return { text: `BEGIN; ${lockBounds}; ${taken.join('; ')}` }
}

/** Whether no session holds a lock. The shared lock of this test ends with the statement. */
export function tryTurn(lock: bigint): Statement {
  return { text: `SELECT pg_try_advisory_xact_lock_shared(${lock})` }
}

/** A round trip without work. */
export const probe: Statement = { text: 'SELECT 0' }

/** Begins a migration. One that waited for another must see its changes, whatever the default isolation level. */
export const beginMigration: Statement = {
  text: `BEGIN ISOLATION LEVEL READ COMMITTED; ${bounds}; SET LOCAL lock_timeout = ${statementMillis}; ${synchronously}`,
}

export const begin: Statement = { text: 'BEGIN' }
export const end: Statement = { text: 'COMMIT' }
export const undo: Statement = { text: 'ROLLBACK' }

/** Reads records and pieces in one snapshot. */
export function readStatement(
  schema: string,
  points: Iterable<string>,
  pieces: readonly PieceRead[],
): Statement {
  return {
    text: `SELECT part, key, value, version FROM ${named(schema, 'read_records')}($1, $2, $3, $4, $5, $6)`,
    values: [bytesArray(points), bytesArray(prefixesOf(points, pieces)), ...piecesOf(pieces)],
  }
}

/** Whether the answer to a read lacks records without a number. */
export function isUnnumbered(rows: readonly Row[]): boolean {
  return rows[0]?.[0] === -1 && rows[0][2] === 'unnumbered'
}

/** What a commit reads and changes. */
export interface CommitPlan {
  readonly reads: Reads
  readonly changes: Changes
  /** The locks of its records. Undefined where all other commits wait, or the engine needs no locks. */
  readonly locks: Locks | undefined
}

/** Which commits may run beside a commit: those that lock other records, none, or all that the engine allows. */
type Locking = 'beside' | 'alone' | 'engine'

/**
 * Compares the reads, and changes the records if all are unchanged. `id` is that under which the outcome is recorded.
 * All of it is one message with all values in its text. So the database has everything before it takes a lock, and
 * depends on no further message.
 */
export function commitStatement(schema: string, id: string, plan: CommitPlan, hasTurns: boolean): Statement {
  const call = hasTurns
    ? callOf(schema, id, plan, lockingOf(plan), plan.locks)
    : callOf(schema, id, plan, 'engine')
  return {
    text: `SET TRANSACTION ISOLATION LEVEL ${hasTurns ? 'READ COMMITTED' : 'SERIALIZABLE'}; ${lockBounds}; ${synchronously}; ${call}`,
  }
}

/** As {@link commitStatement}, within a transaction that holds the locks of the plan. */
export function changeStatement(schema: string, id: string, plan: CommitPlan): Statement {
  return { text: callOf(schema, id, plan, lockingOf(plan)) }
}

function lockingOf({ locks }: CommitPlan): Locking {
  return locks ? 'beside' : 'alone'
}

/** A call of the database's function, which takes these locks. */
function callOf(
  schema: string,
  id: string,
  { reads, changes }: CommitPlan,
  locking: Locking,
  locks?: Locks,
): string {
  const versions: string[] = []
  for (const found of reads.points.values()) versions.push(found?.version ?? '0')
  const pieces = [...reads.pieces.values()]
  const put: string[] = []
  const texts: string[] = []
  const removed: string[] = []
  const appended: string[] = []
  let prefix: string | undefined
  for (const [bytes, change] of changes.entries()) {
    if (change === null) removed.push(bytes)
    else if (change.appendedTo !== undefined) {
      if (prefix !== undefined && prefix !== change.appendedTo)
        throw new CatalogError('Internal', 'A commit appends under one prefix only.')
      prefix = change.appendedTo
      appended.push(change.text)
    } else {
      put.push(bytes)
      texts.push(change.text)
    }
  }
  const values = [
    locking,
    plainArray(locks?.names.map(([first]) => first) ?? []),
    plainArray(locks?.names.map(([, second]) => second) ?? []),
    plainArray(locks?.areExclusive ?? []),
    id,
    bytesArray(reads.points.keys()),
    plainArray(versions),
    bytesArray(prefixesOf([...reads.points.keys(), ...put, ...removed], pieces)),
    ...piecesOf(pieces),
    bytesArray(pieces.map(({ rows }) => digestOf(rows).toString('latin1'))),
    bytesArray(put),
  ].map(literal)
  const last = [
    textArray(texts),
    literal(bytesArray(removed)),
    literal(prefix === undefined ? '' : bytesLiteral(prefix)),
    textArray(appended),
  ]
  return `SELECT part, key, value, version FROM ${named(schema, 'commit_records')}(${[...values, ...last].join(', ')})`
}

/**
 * Prevents a commit whose answer was lost, unless it happened; the first column is whether it did. The statement waits
 * for a running commit, and returns once that is as durable as its own answer would have meant.
 */
export function tombstone(schema: string, id: string): Statement {
  return {
    text: `${synchronously}; INSERT INTO ${named(schema, 'commits')} AS c VALUES (${id}, false) ON CONFLICT (id) DO UPDATE SET happened = c.happened RETURNING c.happened::integer`,
  }
}

/** Removes the ids of old commits, whose answers arrived long ago. */
export function forgetCommits(schema: string, before: string): Statement {
  return { text: `DELETE FROM ${named(schema, 'commits')} WHERE id < $1`, values: [before] }
}

/** Adds an answer to a view of the same snapshot. */
export function addRows(
  rows: readonly Row[],
  pieces: readonly PieceRead[],
  cache: RecordCache,
  view: View,
): void {
  let open: { keys: string[]; found: PieceRows['found'][number][] } | undefined
  for (const [part, key, value, version] of rows) {
    if (part === -1) continue
    if (key === null) {
      const { piece } = pieces[part - 1]!
      open = { keys: [], found: [] }
      view.pieces.set(piece.id, { piece, rows: open })
      continue
    }
    const bytes = key.toString('latin1')
    if (value === null) {
      cache.keepAbsent(bytes)
      view.points.set(bytes, null)
      continue
    }
    const found = cache.found(bytes, version!, value)
    if (part === 0) view.points.set(bytes, found)
    else {
      open!.keys.push(bytes)
      open!.found.push(found)
    }
  }
}

/** The view of a read statement's answer. */
export function viewOf(
  rows: readonly Row[],
  points: Iterable<string>,
  pieces: readonly PieceRead[],
  cache: RecordCache,
  view = new View(),
): View {
  for (const point of points) view.points.set(point, null)
  for (const { piece } of pieces) view.pieces.set(piece.id, { piece, rows: noRows })
  addRows(rows, pieces, cache, view)
  for (const point of points) if (view.points.get(point) === null) cache.keepAbsent(point)
  return view
}

/** The prefixes of numbered records that a read may include. */
function prefixesOf(points: Iterable<string>, pieces: readonly PieceRead[]): ReadonlySet<string> {
  const prefixes = new Set<string>()
  for (const point of points) if (isNumbered(point)) prefixes.add(prefixOfNumbered(point))
  for (const { piece } of pieces) for (const prefix of prefixesOfBytes(piece.lower)) prefixes.add(prefix)
  return prefixes
}

function piecesOf(pieces: readonly PieceRead[]): readonly string[] {
  return [
    bytesArray(pieces.map(({ piece }) => piece.lower)),
    bytesArray(pieces.map(({ piece }) => piece.upper)),
    plainArray(pieces.map(({ piece }) => piece.limit)),
    plainArray(pieces.map(({ piece }) => piece.reverse)),
  ]
}

/** Bytes, one character each, as an array of the database. */
function bytesArray(items: Iterable<string>): string {
  let text = ''
  for (const item of items)
    text += `${text === '' ? '{' : ','}"\\\\x${Buffer.from(item, 'latin1').toString('hex')}"`
  return text === '' ? '{}' : `${text}}`
}

/** Texts as an expression. In a literal of an array, each quotation mark of a JSON text would take three characters. */
function textArray(items: readonly string[]): string {
  return `ARRAY[${items.map(literal).join(',')}]::text[]`
}

function plainArray(items: readonly (string | number | boolean)[]): string {
  return `{${items.join(',')}}`
}

function bytesLiteral(bytes: string): string {
  return `\\x${Buffer.from(bytes, 'latin1').toString('hex')}`
}

/** A string literal. The form with E does not depend on a server's settings. */
function literal(text: string): string {
  return `E'${text.replace(/[\\']/g, (character) => (character === "'" ? "''" : '\\\\'))}'`
}
