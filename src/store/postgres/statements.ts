import { CatalogError } from '../../errors.ts'
import { numberDigits } from '../append.ts'
import type { Change } from './access.ts'
import { stringEnd } from './key-bytes.ts'
import type { Known } from './known.ts'
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

/** The database ends a transaction whose client fell silent. */
const silenceMillis = 15_000

const bounds = `SET LOCAL statement_timeout = ${statementMillis}; SET LOCAL idle_in_transaction_session_timeout = ${silenceMillis}`

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
export const beginReading: Statement = { text: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${bounds}` }

/** Begins to read as engines need it whose writers take no turns. */
export const beginReadingSerially: Statement = {
  text: `BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY; ${bounds}`,
}

/** A commit is answered once it is on disk, even where users or databases are set up to be answered before. */
const synchronously = `SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)`

/**
 * Begins a change. With turns, it waits until no other change is under way. A lock of a table is taken before the
 * database looks at anything: an advisory lock comes too late, as the statement that takes it has its snapshot already.
 */
export function beginChange(schema: string, hasTurns: boolean): Statement {
  const turn = `SET LOCAL lock_timeout = ${turnMillis}; LOCK TABLE ${named(schema, 'turns')} IN EXCLUSIVE MODE; ${synchronously}`
  return { text: `BEGIN ISOLATION LEVEL SERIALIZABLE; ${bounds}${hasTurns ? `; ${turn}` : ''}` }
}

/**
 * Waits until no other session holds a lock, and holds it until the end of the transaction. The isolation does not
 * matter, as nothing is read in it.
 */
export function awaitTurn(lock: bigint): Statement {
  return {
    text: `BEGIN; ${bounds}; SET LOCAL lock_timeout = ${turnMillis}; SELECT pg_advisory_xact_lock(${lock})`,
  }
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
    text: `SELECT part, key, value, version FROM ${named(schema, 'read_records')}($1, $2, $3, $4, $5)`,
    values: [bytesArray(points), ...piecesOf(pieces)],
  }
}

const committed = (schema: string) =>
  `SELECT part, key, value, version FROM ${named(schema, 'commit_records')}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

/** The bytes behind which nothing of a prefix lies. */
const behindNumbers = `\\x${Buffer.from(':').toString('hex')}`

/**
 * Commits, and numbers records behind the last ones under their prefix, if the commit happens. As commits come one after
 * the other, the last one is what everybody sees. Where they take no turns, two that draw the same number conflict.
 */
const appending = (schema: string) => `
  WITH answer AS MATERIALIZED (${committed(schema)}),
  appended AS (
    INSERT INTO ${named(schema, 'records')} (key, value, version)
    SELECT p.prefix || convert_to(lpad((l.last + i.at)::text, ${numberDigits}, '0'), 'UTF8') || '\\x${Buffer.from(stringEnd).toString('hex')}'::bytea, i.value, $1
    FROM (SELECT $12::bytea AS prefix) p,
      unnest($13::text[]) WITH ORDINALITY AS i(value, at),
      (SELECT coalesce((
        SELECT convert_from(substr(r.key, length($12::bytea) + 1, ${numberDigits}), 'UTF8')::bigint
        FROM ${named(schema, 'records')} r
        WHERE r.key > $12::bytea AND r.key < $12::bytea || '${behindNumbers}'::bytea
        ORDER BY r.key DESC LIMIT 1
      ), 0) AS last) l
    WHERE (SELECT count(*) FROM answer) = 1
  )
  SELECT part, key, value, version FROM answer`

/** Compares what was read, and changes records if all of it still holds. */
export function commitStatement(
  schema: string,
  id: string,
  reads: Reads,
  changes: Iterable<readonly [bytes: string, change: Change]>,
): Statement {
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
  const more =
    prefix === undefined ? [] : [`\\x${Buffer.from(prefix, 'latin1').toString('hex')}`, textArray(appended)]
  return {
    text: prefix === undefined ? committed(schema) : appending(schema),
    values: [
      id,
      bytesArray(reads.points.keys()),
      plainArray(versions),
      ...piecesOf(pieces),
      bytesArray(pieces.map(({ rows }) => digestOf(rows).toString('latin1'))),
      bytesArray(put),
      textArray(texts),
      bytesArray(removed),
      ...more,
    ],
  }
}

/**
 * Takes the place of a commit whose answer was lost, unless it happened: the first column tells whether it did. If not,
 * it never will. The statement waits for a commit that is under way.
 */
export function tombstone(schema: string, id: string): Statement {
  return {
    text: `INSERT INTO ${named(schema, 'commits')} AS c VALUES ($1, false) ON CONFLICT (id) DO UPDATE SET happened = c.happened RETURNING c.happened::integer`,
    values: [id],
  }
}

/** Forgets the commits before one, whose answers have long arrived. */
export function forgetCommits(schema: string, before: string): Statement {
  return { text: `DELETE FROM ${named(schema, 'commits')} WHERE id < $1`, values: [before] }
}

/** Adds what an answer tells to a view that holds what else is known of the same moment. */
export function addRows(rows: readonly Row[], pieces: readonly PieceRead[], known: Known, view: View): void {
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
      known.forget(bytes)
      view.points.set(bytes, null)
      continue
    }
    const found = known.found(bytes, version!, value)
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
  known: Known,
  view = new View(),
): View {
  for (const point of points) view.points.set(point, null)
  for (const { piece } of pieces) view.pieces.set(piece.id, { piece, rows: noRows })
  addRows(rows, pieces, known, view)
  for (const point of points) if (view.points.get(point) === null) known.forget(point)
  return view
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
