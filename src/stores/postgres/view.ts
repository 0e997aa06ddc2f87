import { createHash } from 'node:crypto'
import type { Value } from '../../base/store/store.ts'

/** A record as a statement found it. The version is the number of the commit that wrote it. */
export interface Found {
  readonly version: string
  readonly value: Value
}

/** The first or the last `limit` records between two bounds. */
export interface Walk {
  readonly lower: string
  readonly upper: string
  readonly limit: number
  readonly reverse: boolean
}

/** A part of a walk that is read at once. */
export interface Piece extends Walk {
  readonly id: string
}

export function pieceOf(walk: Walk): Piece {
  const { lower, upper, limit, reverse } = walk
  return { id: `${limit}${reverse ? '-' : '+'}${lower.length},${lower}${upper}`, ...walk }
}

/** The records of a piece in its direction, with the bytes of their keys. */
export interface PieceRows {
  readonly keys: readonly string[]
  readonly found: readonly Found[]
}

export const noRows: PieceRows = { keys: [], found: [] }

export interface PieceRead {
  readonly piece: Piece
  readonly rows: PieceRows
}

/** The reads of bodies, by the bytes of keys and by the ids of pieces; null is a record that does not exist. */
export interface Reads {
  readonly points: ReadonlyMap<string, Found | null>
  readonly pieces: ReadonlyMap<string, PieceRead>
}

/** Records and pieces of one snapshot. */
export class View implements Reads {
  readonly points = new Map<string, Found | null>()
  readonly pieces = new Map<string, PieceRead>()
  /** Whether the snapshot has records without a number that belong to the reads. */
  isUnnumbered = false
}

/** The number of records in some reads. */
export function rowsIn({ points, pieces }: Reads): number {
  let rows = points.size
  for (const { rows: found } of pieces.values()) rows += found.keys.length
  return rows
}

/** The keys and versions of a piece as one hash, as the database computes it. */
export function digestOf({ keys, found }: PieceRows): Buffer {
  const hash = createHash('sha256')
  const version = Buffer.alloc(8)
  for (let i = 0; i < keys.length; i++) {
    version.writeBigInt64BE(BigInt(found[i]!.version))
    hash.update(keys[i]!, 'latin1').update(version)
  }
  return hash.digest()
}
