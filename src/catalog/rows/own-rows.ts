import { unsupported } from '../../base/errors.ts'
import type { VersionRecord } from '../../base/store/records.ts'
import type { Snapshot, TableEngine, WorkOptions } from '../../engine/table/index.ts'
import type { RowsQuery, RowsStats, VersionRows } from './version-rows.ts'

/** A fragment of fewer rows is small, as LanceDB counts it. */
const smallRows = 100_000

interface Opened {
  readonly engine: TableEngine
  readonly snapshot: Snapshot
}

/** Rows of our own engine. The version is opened when more than its record is needed. */
export function ownRows({ rows }: VersionRecord, open: () => Promise<Opened>): VersionRows {
  const noBlobs = async ({ column }: { readonly column: string }): Promise<never> => {
    const { engine, snapshot } = await open()
    // A column that is not there is told first.
    await engine.explainQuery(snapshot, { columns: [column] })
    throw unsupported(
      "Only tables of Lance have blobs, and the rows of this one are the catalog's own.",
      'Its columns of bytes are read by a query.',
    )
  }
  return {
    async count(predicate: string | undefined, work: WorkOptions) {
      if (predicate === undefined) return rows!
      const { engine, snapshot } = await open()
      const { signal, onProgress } = work
      return engine.countRows(snapshot, { signal, onProgress, predicate })
    },
    async query(asked, inParts) {
      refuseText(asked)
      const { engine, snapshot } = await open()
      return engine[inParts ? 'streamRows' : 'queryRows'](snapshot, asked)
    },
    blobs: noBlobs,
    blob: noBlobs,
    async explain(asked) {
      refuseText(asked)
      const { engine, snapshot } = await open()
      return engine.explainQuery(snapshot, asked)
    },
    async stats() {
      const { engine, snapshot } = await open()
      const fragments = await engine.fragmentRows(snapshot)
      return {
        bytes: snapshot.bytes,
        rows: snapshot.rows,
        indices: engine.indicesOf(snapshot).length,
        fragments: fragments.length,
        smallFragments: fragments.filter((count) => count < smallRows).length,
        lengths: summaryOf(fragments),
      }
    },
    describe: async () => (await open()).snapshot,
    async prewarm(name) {
      const { engine, snapshot } = await open()
      engine.indexOf(snapshot, name)
      throw unsupported(
        "No index of the catalog's own tables is kept in memory.",
        'Search without it: the answers are the same.',
      )
    },
    writeSpec: async () => undefined,
    async indexNames() {
      const { engine, snapshot } = await open()
      return engine.indicesOf(snapshot).map(({ name }) => name)
    },
    async indexes(names) {
      const { engine, snapshot } = await open()
      const found = names.map((name) => engine.indexOf(snapshot, name))
      const coverage = await engine.coverageOf(snapshot, found)
      return found.map(({ name, uuid, column, type, created_at, parameters }, i) => ({
        name,
        uuid,
        columns: [column],
        type,
        ...coverage[i]!,
        createdAt: created_at,
        details: parameters,
        distanceType: parameters.distance_type === undefined ? undefined : String(parameters.distance_type),
      }))
    },
  }
}

function refuseText({ text }: RowsQuery): void {
  if (text === undefined) return
  throw unsupported(
    "Full-text search needs a table of Lance, and the rows of this one are the catalog's own.",
    "Create the table with the property format: 'lance', or query with LIKE, ILIKE or a regular expression in filter.",
  )
}

function summaryOf(rows: readonly number[]): RowsStats['lengths'] {
  const sorted = [...rows].sort((a, b) => a - b)
  const last = sorted.length - 1
  // The rank is a share of all fragments, as LanceDB counts it.
  const at = (percent: number) => sorted[Math.floor((sorted.length * percent) / 100)] ?? 0
  const sum = sorted.reduce((all, count) => all + count, 0)
  return {
    min: at(0),
    max: sorted[last] ?? 0,
    mean: Math.floor(sum / Math.max(1, sorted.length)),
    p25: at(25),
    p50: at(50),
    p75: at(75),
    p99: at(99),
  }
}
