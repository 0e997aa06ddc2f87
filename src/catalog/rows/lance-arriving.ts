import { randomUUID } from 'node:crypto'
import type { Identifier } from '../../base/model/identifier.ts'
import type { StagedVersion } from '../../engine/lance/index.ts'
import type { WorkOptions } from '../../engine/table/index.ts'
import { firstOfArrived, withArrived, withoutRows } from '../lance/arrived-rows.ts'
import { ArrivingDataset } from '../lance/arriving-dataset.ts'
import { datasetFolderOf, type TableAt } from '../lance/dataset.ts'
import type { MakeManifest } from '../lance/own-version.ts'
import { firstName, stageVersion } from '../lance/stage-version.ts'
import { ownCredentials } from '../locations/credentials.ts'
import { locationOf } from '../locations/locations.ts'
import type { FoundTable } from '../lookup/names.ts'
import type { FoundVersion } from '../lookup/versions.ts'
import type { AnyRowsContext } from './context.ts'
import type { Rows } from './input.ts'
import { readManifest, shownAs } from './lance-manifest.ts'

/*
 * Lance takes rows as a whole. So rows that arrive are written in portions, each as a version of a dataset beside the
 * table, and one version of the table takes all of them at the end. Rows that are one portion are handed to Lance.
 */

/** The rows that arrived: in memory, or in a dataset that is to be removed at the end. */
type Arrived = { readonly held: Rows } | { readonly dataset: ArrivingDataset; readonly count: number }

/** What rows arrive for. */
interface Target {
  readonly id: Identifier
  readonly table: TableAt
  readonly transactionId: string
  /** What errors call it. */
  readonly shown: string
  /** The manifest that the dataset begins with. Undefined for the columns of the rows. */
  readonly base?: Uint8Array
  readonly overwrite: boolean
}

/** Waits for all rows of a stream. When it fails, nothing is left. */
async function arrivedFor(
  core: AnyRowsContext,
  { id, table, transactionId, shown, base, overwrite }: Target,
  rows: Rows,
  work: WorkOptions,
): Promise<Arrived> {
  if (!('tables' in rows)) return { held: rows }
  const lance = await core.lance()
  const { inPortions } = await import('../../engine/lance/index.ts')
  let dataset: ArrivingDataset | undefined
  let count = 0
  try {
    for await (const portion of inPortions(rows)) {
      work.signal?.throwIfAborted()
      if (dataset === undefined && portion.isLast) return { held: portion.rows }
      const isFirst = dataset === undefined
      dataset ??= new ArrivingDataset(
        datasetFolderOf(core, table)!,
        core.staging?.transactionId ?? transactionId,
      )
      const home = locationOf(core.contentRoots, table.id, table.record)
      const there = {
        location: dataset.locationIn(home),
        storageOptions: () => ownCredentials(core, home, id),
        branch: '',
        shown,
        versions: dataset.versions,
      }
      if (isFirst && base === undefined) await lance.create(there, portion.rows, work)
      else if (portion.count > 0) {
        if (isFirst) await dataset.begin(base!)
        const insert = { kind: 'insert', rows: portion.rows, overwrite: isFirst && overwrite } as const
        await lance.change(there, () => insert, { signal: work.signal })
      }
      count += portion.count
      work.onProgress?.({ rowsDone: count, rowsTotal: 0 })
    }
    return { dataset: dataset!, count }
  } catch (error) {
    await dataset?.remove()
    throw error
  }
}

/** Where rows go that have arrived: to Lance, or into a version that takes what is made of them. */
interface Ends<Made, T> {
  held(rows: Rows): Promise<T>
  made(made: Made, count: number): Promise<T>
}

/** The table and version that rows are inserted into. */
export interface InsertTarget {
  readonly id: Identifier
  readonly table: FoundTable
  readonly latest: FoundVersion
  readonly transactionId: string
  readonly overwrite: boolean
}

/**
 * Waits for the rows of an insert, and hands them to one of two: those in memory, or what makes a version that has them.
 */
export async function insertArrived<T>(
  core: AnyRowsContext,
  target: InsertTarget,
  rows: Rows,
  work: WorkOptions,
  insert: Ends<MakeManifest, T>,
): Promise<T> {
  const { id, table, latest, overwrite } = target
  const before = await readManifest(core, id, table, latest, (manifest) => ({
    manifest,
    base: withoutRows(manifest),
  }))
  if (before.base === undefined) return insert.held(rows)
  const shown = shownAs(id, latest)
  const found = await arrivedFor(core, { ...target, base: before.base, shown }, rows, work)
  if ('held' in found) return insert.held(found.held)
  const { dataset, count } = found
  try {
    const make = withArrived({ manifest: await dataset.manifest(), base: before.manifest, overwrite })
    // Once a version is written that names the files, a lost answer may hide that it is recorded.
    let mayBeMade = false
    try {
      await dataset.moveTo(latest.branch, work.signal)
      const makeNext: MakeManifest = (version, next) => {
        mayBeMade = false
        const made = make(version, next)
        mayBeMade = made !== undefined
        return made
      }
      return await insert.made(makeNext, count)
    } catch (error) {
      if (!mayBeMade) await dataset.removeMoved()
      throw error
    }
  } finally {
    await dataset.remove()
  }
}

/** The table that is made with rows. */
export interface CreateTarget {
  readonly id: Identifier
  readonly table: TableAt
  readonly transactionId: string
  readonly shown: string
}

/** The same for the first rows of a table. The version is written where Lance would write it. */
export async function createArrived<T>(
  core: AnyRowsContext,
  target: CreateTarget,
  rows: Rows,
  work: WorkOptions,
  create: Ends<StagedVersion, T>,
): Promise<T> {
  const found = await arrivedFor(core, { ...target, overwrite: false }, rows, work)
  if ('held' in found) return create.held(found.held)
  const { dataset, count } = found
  try {
    await dataset.moveTo('', work.signal)
    const uuid = randomUUID()
    const made = firstOfArrived(await dataset.manifest(), { uuid, millis: core.now() })
    const folder = datasetFolderOf(core, target.table)!
    const staged = await stageVersion(folder, { branch: '', name: firstName, uuid, made })
    return await create.made({ ...staged, version: 1, naming_scheme: 'V2' }, count)
  } finally {
    await dataset.remove()
  }
}
