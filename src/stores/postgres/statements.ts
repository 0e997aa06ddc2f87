import { CatalogError } from '../../base/errors.ts'
import { numberDigits } from '../../base/store/append.ts'
import type { Change } from './access.ts'
import { prefixesOfBytes, stringEnd } from './key-bytes.ts'
import { isNumbered, type Locking, type Locks } from './locks.ts'
import type { RecordCache } from './record-cache.ts'
import { digestOf, noRows, type PieceRead, type PieceRows, type Reads, View } from './view.ts'

/*
 * What is sent to the database. Nothing is prepared under a name, and nothing is set beyond the end of a transaction:
 * so a pooler may stand between, which hands each transaction to another connection.
 */

export interface Statement {
  readonly text: string
  readonly values?: readonly unknown[]
}

/**
 * A row of an answer. Part −1 tells the database's time in milliseconds as its version, part 0 is a record, and the
 * others belong to the pieces in the order in which they were given. Of a piece, the first row has no key.
 */
export type Row = readonly [part: number, key: Buffer | null, value: string | null, version: string | null]

/** How long a transaction waits for its turn, in milliseconds, and how long it may take. */
const turnMillis = 10_000
const statementMillis = 60_000

/** The database ends a transaction whose client fell silent; sooner if others wait for it. */
const silenceMillis = 15_000
const turnSilenceMillis = 2_000

const boundsOf = (silence: number) =>
  `SET LOCAL statement_timeout = ${statementMillis}; SET LOCAL idle_in_transaction_session_timeout = ${silence}`
const bounds = boundsOf(silenceMillis)
const turnBounds = `${boundsOf(turnSilenceMillis)}; SET LOCAL lock_timeout = ${turnMillis}`

/** A name as it is written in statements. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** The name of something in the catalog's schema. */
export function named(schema: string, name: string): string {
  return `${quoted(schema)}.${name}`
}

/** The body of a function as it is written in a statement. What it holds ends it at no other place than its end. */
export function dollarQuoted(text: string): string {
  let tag = '$$'
  // A name within the text may hold any tag.
  for (let n = 1; text.includes(tag); n++) tag = `$body${n}$`
  return tag + text + tag
}

/** Begins to read at one moment. */
export const beginSnapshotRead: Statement = {
  text: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${bounds}`,
}

/** Begins to read as engines need it whose writers take no turns. */
export const beginSerializableRead: Statement = {
  text: `BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY; ${bounds}`,
}

/** A commit is answered once it is on disk, even where users or databases are set up to be answered before. */
const synchronously = `SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)`

/**
 * Begins a change that reads while it has its turn. A lock of a table is taken before the database looks at anything,
 * and each statement after it sees all that was committed before the lock.
 */
export function beginTurn(schema: string, locks: Locks | undefined): Statement {
  const begun = `BEGIN ISOLATION LEVEL READ COMMITTED; ${turnBounds}; ${synchronously}`
  const turns = named(schema, 'turns')
  if (locks === undefined)
    return {
      text: `${begun}; LOCK TABLE ${turns} IN EXCLUSIVE MODE; SELECT ${named(schema, 'number_records')}()`,
    }
  // One list, whose functions are called in its order.
  const taken = locks.names.map(([first, second], i) =>
    locks.areExclusive[i]
      ? `pg_advisory_xact_lock(${first}, ${second})`
      : `pg_advisory_xact_lock_shared(${first}, ${second})`,
  )
  return { text: `${begun}; LOCK TABLE ${turns} IN ROW SHARE MODE; SELECT ${taken.join(', ')}` }
}

/** Begins to number records at one moment, and to read at that same moment. What reads for long may fall silent for longer. */
export function beginNumbering(schema: string, hasTurns: boolean, isLong = false): Statement {
  const numbered = `SELECT ${named(schema, 'number_records')}()`
  if (!hasTurns)
    return { text: `BEGIN ISOLATION LEVEL SERIALIZABLE; ${bounds}; ${synchronously}; ${numbered}` }
  const limits = isLong ? `${bounds}; SET LOCAL lock_timeout = ${turnMillis}` : turnBounds
  const turn = `LOCK TABLE ${named(schema, 'turns')} IN ROW SHARE MODE; LOCK TABLE ${named(schema, 'numbering')} IN EXCLUSIVE MODE`
  return { text: `BEGIN ISOLATION LEVEL REPEATABLE READ; ${limits}; ${turn}; ${synchronously}; ${numbered}` }
}

/**
 * Waits until no other session holds any of these locks, and holds them until the end of the transaction. All take them
 * in the same order, so that nobody waits for each other. The isolation does not matter, as nothing is read in it.
 */
export function awaitTurn(locks: readonly bigint[]): Statement {
  const ordered = locks.toSorted((a, b) => (a < b ? -1 : 1))
  const taken = ordered.map((lock) => `SELECT pg_advisory_xact_lock(${lock})`)
  return { text: `BEGIN; ${turnBounds}; ${taken.join('; ')}` }
}

/** Whether no session holds a lock. The shared lock that finds it out ends with the statement. */
export function tryTurn(lock: bigint): Statement {
  return { text: `SELECT pg_try_advisory_xact_lock_shared(${lock})` }
}

/** Nothing but a way there and back. */
export const probe: Statement = { text: 'SELECT 0' }

/**
 * Begins to make tables. A migration that waited for another one must see what the other one made, whatever isolation
 * is usual there.
 */
export const beginMigration: Statement = {
  text: `BEGIN ISOLATION LEVEL READ COMMITTED; ${bounds}; SET LOCAL lock_timeout = ${statementMillis}; ${synchronously}`,
}

export const begin: Statement = { text: 'BEGIN' }
export const end: Statement = { text: 'COMMIT' }
export const undo: Statement = { text: 'ROLLBACK' }

/** Reads records and pieces at one moment. */
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

/** Whether the answer to a read lacks records that have no number yet. */
export function isUnnumbered(rows: readonly Row[]): boolean {
  return rows[0]?.[0] === -1 && rows[0][2] === 'unnumbered'
}

/** What a commit consists of. */
export interface CommitParts {
  readonly schema: string
  readonly locking: Locking
  /** The locks that the statement takes; undefined where it needs none of records, or holds them. */
  readonly locks: Locks | undefined
  /** The number under which the outcome is noted. */
  readonly id: string
  readonly reads: Reads
  readonly changes: Iterable<readonly [bytes: string, change: Change]>
}

/**
 * Compares what was read, and changes records if all of it still holds. The whole of it is one message, with all values
 * in its text: the database has it whole before it takes a lock, and needs nothing more from here to end it.
 */
export function commitStatement(parts: CommitParts): Statement {
  const isolation = parts.locking === 'engine' ? 'SERIALIZABLE' : 'READ COMMITTED'
  const { text } = changeStatement(parts)
  return {
    text: `SET TRANSACTION ISOLATION LEVEL ${isolation}; ${turnBounds}; ${synchronously}; ${text}`,
  }
}

/** The same, within a transaction that holds its turn. */
export function changeStatement(parts: CommitParts): Statement {
  const { schema, locking, locks, id, reads, changes } = parts
  const versions: string[] = []
  for (const found of reads.points.values()) versions.push(found?.version ?? '0')
  const pieces = [...reads.pieces.values()]
  const put: string[] = []
  const texts: string[] = []
  const removed: string[] = []
  const appended: string[] = []
  let prefix: string | undefined
  for (const [bytes, change] of changes) {
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
    textArray(texts),
    bytesArray(removed),
    prefix === undefined ? '' : bytesLiteral(prefix),
    textArray(appended),
  ]
  return {
    text: `SELECT part, key, value, version FROM ${named(schema, 'commit_records')}(${values.map(literal).join(', ')})`,
  }
}

/**
 * Takes the place of a commit whose answer was lost, unless it happened: the first column tells whether it did. If not,
 * it never will. The statement waits for a commit that is under way, and is answered once that is as safe as its answer
 * would have said.
 */
export function tombstone(schema: string, id: string): Statement {
  return {
    text: `${synchronously}; INSERT INTO ${named(schema, 'commits')} AS c VALUES (${id}, false) ON CONFLICT (id) DO UPDATE SET happened = c.happened RETURNING c.happened::integer`,
  }
}

/** Forgets the commits before one, whose answers have long arrived. */
export function forgetCommits(schema: string, before: string): Statement {
  return { text: `DELETE FROM ${named(schema, 'commits')} WHERE id < $1`, values: [before] }
}

/** Adds what an answer tells to a view that holds what else is known of the same moment. */
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
      cache.forget(bytes)
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

/** The view of what a read statement answered. */
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
  for (const point of points) if (view.points.get(point) === null) cache.forget(point)
  return view
}

/** The prefixes under which records may be numbered that a read is about. */
function prefixesOf(points: Iterable<string>, pieces: readonly PieceRead[]): ReadonlySet<string> {
  const prefixes = new Set<string>()
  for (const point of points)
    if (isNumbered(point)) prefixes.add(point.slice(0, -numberDigits - stringEnd.length))
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

function textArray(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replace(/[\\"]/g, '\\$&')}"`).join(',')}}`
}

function plainArray(items: readonly (string | number | boolean)[]): string {
  return `{${items.join(',')}}`
}

function bytesLiteral(bytes: string): string {
  return `\\x${Buffer.from(bytes, 'latin1').toString('hex')}`
}

/** A text as a value in a statement. The form with E means the same whatever a server's settings are. */
function literal(text: string): string {
  return `E'${text.replace(/[\\']/g, (character) => (character === "'" ? "''" : '\\\\'))}'`
}
