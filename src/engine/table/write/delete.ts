import type { Predicate } from '../../predicate/index.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import { haveSameColumns, type TableSchema } from '../format/table-schema.ts'
import { Job } from '../job.ts'
import { compile } from '../scan/compile.ts'
import { prune } from '../scan/evaluate.ts'
import { refuseOffsets } from '../scan/row-columns.ts'
import { startScan } from '../scan/scan.ts'
import type { Storage } from '../storage/storage.ts'
import type { ApplyOptions, Change, ChangeResult, Snapshot } from '../table-engine.ts'
import { Removal, type RowFinder } from './remove-rows.ts'
import { reviseManifest } from './write-manifest.ts'

/** The state for the columns of a base. */
interface Compiled {
  readonly schema: TableSchema
  readonly predicate: Predicate
  readonly removal: Removal
}

/** Deletes the rows that match a predicate. Fragments that statistics rule out are not read. */
export class Deletion implements Change {
  readonly #storage: Storage
  readonly #text: string
  /** All bases use the same time. */
  readonly #now: number
  #compiled: Compiled | undefined

  constructor(storage: Storage, text: string) {
    this.#storage = storage
    this.#text = text
    this.#now = storage.now()
  }

  async apply(base: Snapshot, options?: ApplyOptions): Promise<ChangeResult> {
    const snapshot = base as LoadedSnapshot
    const job = new Job(this.#storage, options)
    const { predicate, removal } = await this.#compile(snapshot.schema, job)
    const finder = await matchFinder(job, snapshot, predicate)
    return removal.from(job, snapshot, finder, async ({ removed, ...parts }) => ({
      snapshot: await reviseManifest(job, snapshot, parts),
      affected: removed,
    }))
  }

  async #compile(schema: TableSchema, job: Job): Promise<Compiled> {
    const known = this.#compiled
    // Matches for other columns are not valid for these.
    const isSame = known && haveSameColumns(known.schema, schema)
    if (!isSame) {
      const predicate = await compile(this.#text, schema, this.#now, job)
      this.#compiled = { schema, predicate, removal: new Removal() }
    }
    return this.#compiled!
  }
}

/** A row finder for a predicate. */
export async function matchFinder(
  job: Job,
  snapshot: LoadedSnapshot,
  predicate: Predicate,
): Promise<RowFinder> {
  refuseOffsets(snapshot.schema, predicate.columns)
  const scan = await startScan(job, snapshot, predicate)
  return {
    get depth() {
      return scan.depth
    },
    verdict: (entry) => prune(predicate, snapshot.schema, entry),
    begin: (entry) => scan.begin(entry, 'rows'),
    end: () => scan.end(),
  }
}
