import { runBody } from '../../base/store/body.ts'
import { AttemptReader, AttemptWriter, type Changes } from './access.ts'
import type { Address } from './address.ts'
import type { Attempt } from './attempt.ts'
import type { Clock } from './clock.ts'
import type { Connection } from './connection.ts'
import type { Engine } from './home.ts'
import type { Pool } from './pool.ts'
import type { RecordCache } from './record-cache.ts'
import { isUnnumbered, type Row, readStatement, viewOf } from './statements.ts'
import { type PieceRead, type Reads, View } from './view.ts'

/** What the parts of an open store share. */
export interface StoreContext {
  readonly address: Address
  readonly pool: Pool
  readonly cache: RecordCache
  readonly clock: Clock
  /** Set after the first connection. */
  engine: Engine
  /** Set while a body runs, which must not begin a transaction. */
  isBusy: boolean
}

/** A body, and the outcome of its latest run. */
export interface Job {
  readonly body: (access: never) => unknown
  outcome?: { readonly result: unknown } | { readonly error: unknown }
}

export function runReader(context: StoreContext, job: Job, attempt: Attempt): void {
  run(context, job, new AttemptReader(attempt))
}

/** Runs a writing body on the changes of the bodies before it. Returns these with its own, unless it failed. */
export function runWriter(context: StoreContext, job: Job, attempt: Attempt, changes: Changes): Changes {
  const writer = new AttemptWriter(attempt, changes)
  run(context, job, writer)
  return 'error' in job.outcome! ? changes : writer.changes()
}

function run(context: StoreContext, job: Job, access: AttemptReader): void {
  context.isBusy = true
  try {
    job.outcome = { result: runBody(job.body as (access: AttemptReader) => unknown, access) }
  } catch (error) {
    job.outcome = { error }
  } finally {
    context.isBusy = false
    access.ended = true
  }
}

/** Reads the records of an attempt that the view lacks, and adds them to the view. */
export async function readInto(
  context: StoreContext,
  connection: Connection,
  { points, pieces }: Reads,
  view = new View(),
): Promise<View> {
  const { address, clock, cache } = context
  const wantedPoints: string[] = []
  for (const point of points.keys()) if (!view.points.has(point)) wantedPoints.push(point)
  const wantedPieces: PieceRead[] = []
  for (const [id, piece] of pieces) if (!view.pieces.has(id)) wantedPieces.push(piece)
  const sent = clock.sent()
  const rows = await connection.send(readStatement(address.schema, wantedPoints, wantedPieces))
  learnTime(clock, rows, sent)
  view.isUnnumbered ||= isUnnumbered(rows)
  return viewOf(rows, wantedPoints, wantedPieces, cache, view)
}

export function learnTime(clock: Clock, rows: readonly Row[], sent: number): void {
  if (rows[0]?.[0] === -1) clock.learn(Number(rows[0][3]), sent)
}
