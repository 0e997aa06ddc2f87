import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Core } from '../../catalog/core.ts'
import type { Identifier } from '../../model/identifier.ts'
import { manifestOf } from '../../rows/rows.ts'
import type { Snapshot, TableEngine } from '../../table/index.ts'
import { createFolderAtomically, requireFolderPath } from '../folders.ts'
import type { KnownVersion } from '../tables.ts'
import { withBackupLease } from '../with-backup-lease.ts'
import { folderName, makeFolder } from './folder-names.ts'
import { catalogFile, type NamespaceJson, namespaceFile, type TableJson, tableFile } from './format.ts'
import { type NamespaceTree, readNamespaceTree, type TableWithRefs } from './namespace-tree.ts'

export interface ExportOptions {
  /** Writes the rows of all versions of all branches. Otherwise only the latest version of the main branch. */
  readonly history?: boolean | undefined
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
}

/** The target size of a row file. More rows go into further files. */
const fileBytes = 128 << 20
const maxListed = 1_000

/** Writes a catalog as plain files; see `LocalCatalog.exportTo`. */
export async function exportTo(
  core: Core,
  target: string,
  options: ExportOptions = {},
): Promise<ExportReport> {
  return createFolderAtomically(requireFolderPath(target), (folder) =>
    withBackupLease(core, (signal) => new Export(core, { ...options, signal }).write(folder), options.signal),
  )
}

class Export {
  readonly #core: Core
  readonly #options: ExportOptions & { signal: AbortSignal }
  readonly #withoutRows: Identifier[] = []
  readonly #report = {
    namespaces: 0,
    tables: 0,
    files: 0,
    rows: 0,
    bytes: 0,
    withoutRows: this.#withoutRows as readonly Identifier[],
  }

  constructor(core: Core, options: ExportOptions & { signal: AbortSignal }) {
    this.#core = core
    this.#options = options
  }

  async write(folder: string): Promise<ExportReport> {
    await writeJson(join(folder, catalogFile), { tabularium: 'export', format: 1 })
    await this.#namespace(folder, await readNamespaceTree(this.#core))
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
    const { record, place, versions, fromOwnEngine } = table
    const engine = place && fromOwnEngine ? await this.#core.engine(place.content) : undefined
    const isElsewhere = engine === undefined && (versions.length > 0 || place === undefined)
    if (isElsewhere && this.#withoutRows.length < maxListed) this.#withoutRows.push(table.id ?? [])
    const written = new Map<string, readonly string[]>()
    const entries: TableJson['versions'] = []
    for (const version of versions) {
      entries.push({
        ...entryOf(version),
        ...(engine && (await this.#files(folder, table, engine, version, written))),
      })
    }
    const json: TableJson = {
      name: record.name,
      properties: record.properties,
      created_at: record.created_at,
      ...(isElsewhere ? { location: table.location } : {}),
      main: record.main,
      branches: table.branches.map(([name, { v: _, ...branch }]) => ({ name, ...branch })),
      tags: table.tags.map(([name, { branch, version }]) => ({ name, branch, version })),
      versions: entries,
    }
    await writeJson(join(folder, tableFile), json)
  }

  /** Writes the rows of a version. Versions with the same rows share one set of files. */
  async #files(
    folder: string,
    { record, place }: TableWithRefs,
    engine: TableEngine,
    { key, record: version }: KnownVersion,
    written: Map<string, readonly string[]>,
  ): Promise<{ files?: string[] }> {
    const [, , branch, number] = key as [string, string, string, number]
    const isLatest = branch === '' && number === record.main.latest
    if (!isLatest && !this.#options.history) return {}
    const known = written.get(version.manifest_path)
    if (known) return { files: [...known] }
    if (!isLatest) await mkdir(join(folder, 'versions'), { recursive: true })
    const base = isLatest
      ? 'rows'
      : `versions/${folderName(branch === '' ? 'main' : branch)}-${number}-${written.size}`
    const snapshot = await engine.open(place!.prefix, manifestOf(version))
    const files = await this.#rows(folder, base, engine, snapshot)
    written.set(version.manifest_path, files)
    return { files }
  }

  async #rows(folder: string, base: string, engine: TableEngine, snapshot: Snapshot): Promise<string[]> {
    const { rows, bytes } = snapshot
    const limit = Math.max(1, Math.floor(fileBytes / Math.max(1, bytes / Math.max(1, rows))))
    const files: string[] = []
    for (let offset = 0; offset === 0 || offset < rows; offset += limit) {
      this.#options.signal.throwIfAborted()
      const data = await engine.queryRows(snapshot, { offset, limit, signal: this.#options.signal })
      const name = files.length === 0 ? `${base}.arrow` : `${base}-part${files.length + 1}.arrow`
      await writeFile(join(folder, name), data)
      files.push(name)
      this.#report.files++
      this.#report.bytes += data.length
    }
    this.#report.rows += rows
    return files
  }
}

function entryOf({ key, record }: KnownVersion): TableJson['versions'][number] {
  return {
    branch: String(key[2]),
    version: Number(key[3]),
    timestamp_millis: record.timestamp_millis,
    ...(record.metadata === undefined ? {} : { metadata: { ...record.metadata } }),
    ...(record.rows === undefined ? {} : { rows: record.rows }),
  }
}

function writeJson(path: string, value: unknown): Promise<void> {
  return writeFile(path, `${JSON.stringify(value, undefined, 2)}\n`)
}

/** Writes a new file and syncs it, so that it survives a crash of the machine. */
async function writeFile(path: string, data: string | Uint8Array): Promise<void> {
  const file = await open(path, 'wx')
  try {
    await file.writeFile(data)
    await file.sync()
  } finally {
    await file.close()
  }
}
