import { mkdir, open } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { invalid } from '../../../base/errors.ts'
import type { Identifier } from '../../../base/model/identifier.ts'
import type { DatasetCopy } from '../../lance/copy-dataset.ts'
import type { MaintenanceContext } from '../context.ts'
import { createFolderAtomically, requireFolderPath } from '../folders.ts'
import { withBackupLease } from '../with-backup-lease.ts'
import { timeOf, treeAsOf } from './as-of.ts'
import { makeFolder } from './folder-names.ts'
import {
  catalogFile,
  type NamespaceJson,
  namespaceFile,
  type RowFormat,
  rowFormats,
  type TableJson,
  tableFile,
} from './format.ts'
import { about, datasetFolder, recordPublished } from './lance.ts'
import { type NamespaceTree, readNamespaceTree, type TableWithRefs } from './namespace-tree.ts'
import { filesOf } from './table-files.ts'

export interface ExportOptions {
  /** Writes the rows of all versions of all branches. Otherwise only the latest version of the main branch. */
  readonly history?: boolean | undefined
  /**
   * A time, as ISO 8601 or a `Date`: writes the versions of then, and no table that was made later. Names and properties
   * are those of now. Default: the latest versions.
   */
  readonly at?: string | Date | undefined
  /** The format of row files. Default: `arrow`. */
  readonly format?: 'arrow' | 'parquet' | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((report: ExportReport) => void) | undefined
}

export interface ExportReport {
  readonly namespaces: number
  readonly tables: number
  /** The number of row files, and their rows and bytes. */
  readonly files: number
  readonly rows: number
  readonly bytes: number
  /** The first 1,000 tables without exported rows, since their content lies elsewhere or is another engine's. */
  readonly withoutRows: readonly Identifier[]
  /**
   * The first 1,000 tables of other formats, such as Iceberg, whose versions point at files that stay where they are.
   * `inSource` says whether the files lie where the source keeps its own rows, so that they go when that goes.
   */
  readonly inPlace: readonly (TableInPlace & { readonly inSource: boolean })[]
}

/** A table whose files stay where they are. */
export interface TableInPlace {
  readonly id: Identifier
  readonly location: string
}

const maxListed = 1_000

/** Whether a location lies where a catalog keeps its own rows. */
export function isInSource({ contentRoots }: MaintenanceContext, location: string): boolean {
  return location.startsWith(contentRoots[0]!.url)
}

/** Writes a catalog as plain files; see `LocalCatalog.exportTo`. */
export async function exportTo(
  core: MaintenanceContext,
  target: string,
  options: ExportOptions = {},
): Promise<ExportReport> {
  const { format = 'arrow' } = options
  if (!rowFormats.includes(format))
    throw invalid(
      `The format of an export is ${JSON.stringify(format)}. Give one of ${rowFormats.join(', ')}.`,
    )
  // Before anything is written.
  const time = options.at === undefined ? undefined : timeOf(options.at, core.now())
  return createFolderAtomically(requireFolderPath(target), (folder, final) =>
    withBackupLease(
      core,
      (signal) => new Export(core, { folder, final }, { ...options, signal }).write(time),
      options.signal,
    ),
  )
}

class Export {
  /** The folder that is filled, and the one that it becomes. */
  readonly #folder: string
  readonly #final: string
  readonly #core: MaintenanceContext
  readonly #options: ExportOptions & { signal: AbortSignal }
  readonly #withoutRows: Identifier[] = []
  readonly #inPlace: ExportReport['inPlace'][number][] = []
  readonly #report = {
    namespaces: 0,
    tables: 0,
    files: 0,
    rows: 0,
    bytes: 0,
    withoutRows: this.#withoutRows as readonly Identifier[],
    inPlace: this.#inPlace as ExportReport['inPlace'],
  }

  constructor(
    core: MaintenanceContext,
    { folder, final }: { readonly folder: string; readonly final: string },
    options: ExportOptions & { signal: AbortSignal },
  ) {
    this.#core = core
    this.#folder = folder
    this.#final = final
    this.#options = options
  }

  /** Writes the versions of a time; undefined for the latest. */
  async write(time: number | undefined): Promise<ExportReport> {
    const folder = this.#folder
    await writeJson(join(folder, catalogFile), { tabularium: 'export', format: 1 })
    await recordPublished(this.#core)
    const tree = await readNamespaceTree(this.#core)
    await this.#namespace(folder, time === undefined ? tree : treeAsOf(tree, time))
    return this.#report
  }

  async #namespace(folder: string, { record, namespaces, tables }: NamespaceTree): Promise<void> {
    if (record) {
      const { name, properties, created_at } = record
      await writeJson(join(folder, namespaceFile), { name, properties, created_at } satisfies NamespaceJson)
      this.#report.namespaces++
    }
    for (const child of namespaces) {
      await this.#namespace(await makeFolder(folder, child.record!.name), child)
    }
    for (const table of tables) {
      this.#options.signal.throwIfAborted()
      await this.#table(await makeFolder(folder, table.record.name), table)
      this.#report.tables++
      this.#options.onProgress?.({ ...this.#report })
    }
  }

  async #table(folder: string, table: TableWithRefs): Promise<void> {
    const { history = false, format = 'arrow', signal } = this.#options
    const files = await filesOf(this.#core, table, { history, format, signal }).catch((error) => {
      throw about(table.id ?? [], error, 'exported')
    })
    const { json, isElsewhere, isInPlace, rows, dataset, names, stream } = files
    const { id = [], location } = table
    if (isInPlace && this.#inPlace.length < maxListed)
      this.#inPlace.push({ id, location, inSource: isInSource(this.#core, location) })
    else if (isElsewhere && !isInPlace && !dataset && this.#withoutRows.length < maxListed)
      this.#withoutRows.push(id)
    if (names.some((name) => name.startsWith('versions/'))) await mkdir(join(folder, 'versions'))
    for (const name of names) {
      signal.throwIfAborted()
      const rows = await stream(name, signal)
      this.#report.bytes += await writeRows(join(folder, name), rows, format)
      this.#report.files++
    }
    if (dataset) this.#report.rows += dataset.versions.reduce((sum, { rows }) => sum + rows, 0)
    this.#report.rows += rows
    const exported = dataset && { dataset: await this.#dataset(folder, dataset) }
    await writeJson(join(folder, tableFile), { ...json, ...exported })
  }

  /** Writes the files of Lance, which any program that reads Lance can open there. */
  async #dataset(folder: string, dataset: DatasetCopy): Promise<TableJson['dataset']> {
    const { openContent } = await import('../../../contents/open.ts')
    const at = (place: string) => pathToFileURL(join(place, datasetFolder.slice(0, -1))).href
    const [location, namedAs] = [at(folder), at(join(this.#final, relative(this.#folder, folder)))]
    const content = await openContent(location)
    await dataset.writeTo({ content, prefix: '', location, namedAs }, this.#options.signal)
    this.#report.files += dataset.files
    this.#report.bytes += dataset.bytes
    return { location: namedAs }
  }
}

/** Writes rows in a format as they come, and answers with the bytes of the file. */
async function writeRows(
  path: string,
  rows: Uint8Array | AsyncIterable<Uint8Array>,
  format: RowFormat,
): Promise<number> {
  let bytes = 0
  async function* counted() {
    for await (const piece of format === 'arrow' ? partsOf(rows) : parquetOf(rows)) {
      bytes += piece.length
      yield piece
    }
  }
  await writeFile(path, counted())
  return bytes
}

type Parts = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

function partsOf(rows: Uint8Array | AsyncIterable<Uint8Array>): Parts {
  return rows instanceof Uint8Array ? [rows] : rows
}

async function* parquetOf(rows: Uint8Array | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { writeParquet } = await import('../../../engine/parquet/index.ts')
  const { tablesOfAnswer } = await import('../../../engine/table/index.ts')
  yield* writeParquet(tablesOfAnswer(rows))
}

function writeJson(path: string, value: unknown): Promise<void> {
  return writeFile(path, `${JSON.stringify(value, undefined, 2)}\n`)
}

/** Writes a new file and syncs it, so that it survives a crash of the machine. */
async function writeFile(path: string, data: string | Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx')
  try {
    await file.writeFile(data)
    await file.sync()
  } finally {
    await file.close()
  }
}
