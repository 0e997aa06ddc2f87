import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { prefetch } from '../../base/scheduling/prefetch.ts'
import { outOfReach } from '../../catalog/formats/index.ts'
import type { Kind } from '../records/formats.ts'
import type { TransactionalCatalog } from '../records/lookup.ts'
import { RemoteCatalog, type RemoteEntry } from './remote-catalog.ts'
import type { RemoteOptions } from './rest-client.ts'
import { type ImportTarget, localTarget, type PresentEntry, remoteTarget, uuidOf } from './targets.ts'

/** Whether a table failed since it lies below no root of the target. */
export function isOutOfReach(error: unknown): boolean {
  return error instanceof Error && error.message.includes(outOfReach)
}

/** What became of a table or view. */
export interface ImportedEntry {
  readonly kind: Kind
  readonly id: Identifier
  readonly outcome: 'registered' | 'updated' | 'same' | 'failed'
  /** Its metadata file; absent when it could not be loaded. */
  readonly url?: string
  /** Where it lies, as its metadata says. */
  readonly location?: string
  readonly error?: unknown
}

export interface IcebergImportOptions {
  /** Namespaces to import, with all below them. Default: all. */
  readonly namespaces?: readonly Identifier[] | undefined
  /** Takes the state of the source, too, for tables that were changed in the target. */
  readonly overwrite?: boolean | undefined
  /** Only reports what would be done. */
  readonly dryRun?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /** Called with each table and view. */
  readonly onEntry?: ((entry: ImportedEntry) => void) | undefined
  /** Called with each namespace that could not be read to its end. */
  readonly onNamespaceFailed?: ((id: Identifier, error: unknown) => void) | undefined
}

export interface IcebergImportReport {
  /** Namespaces that were found, and how many of them were created. */
  readonly namespaces: number
  readonly created: number
  /** Tables and views by what became of them. */
  readonly registered: number
  readonly updated: number
  readonly same: number
  /** Tables, views and namespaces that could not be imported. */
  readonly failed: number
}

/** Deeper namespaces are those of a server that makes them up. */
const deepest = 64
/** Tables that are loaded at the same time. */
const depth = 8

/**
 * Registers the tables and views of another catalog of Iceberg REST, with their metadata files as they are. Files stay in
 * place. A second run skips what is the same, and follows what changed at the source.
 *
 * ```ts
 * await importIceberg({ url: 'https://old.example/iceberg', token }, catalog)
 * ```
 *
 * `into` is a catalog that `openCatalog` opened, a function that opens it once the source has answered, or says where a
 * server is.
 */
export async function importIceberg(
  from: RemoteOptions,
  into: TransactionalCatalog | RemoteOptions | (() => Promise<TransactionalCatalog>),
  options: IcebergImportOptions = {},
): Promise<IcebergImportReport> {
  const { signal } = options
  const source = await RemoteCatalog.open(from, signal)
  const given = typeof into === 'function' ? await into() : into
  const target =
    'transaction' in given
      ? localTarget(given, signal)
      : remoteTarget(await RemoteCatalog.open(given, signal))
  return new IcebergImport(source, target, options).run()
}

class IcebergImport {
  readonly #source: RemoteCatalog
  readonly #target: ImportTarget
  readonly #options: IcebergImportOptions
  readonly #report = { namespaces: 0, created: 0, registered: 0, updated: 0, same: 0, failed: 0 }

  constructor(source: RemoteCatalog, target: ImportTarget, options: IcebergImportOptions) {
    this.#source = source
    this.#target = target
    this.#options = options
  }

  async run(): Promise<IcebergImportReport> {
    const { namespaces } = this.#options
    if (namespaces === undefined || namespaces.length === 0) await this.#below([])
    else for (const id of namespaces) await this.#chosen(id)
    return this.#report
  }

  /** Imports a namespace that the caller chose. The ones around it come with it. */
  async #chosen(id: Identifier): Promise<void> {
    await this.#unlessFailed(id, async () => {
      for (let length = 1; length < id.length; length++) await this.#create(id.slice(0, length))
      await this.#namespace(id)
    })
  }

  async #below(parent: Identifier): Promise<void> {
    if (parent.length >= deepest)
      throw invalid(`namespaces lie deeper than ${deepest} levels. They are left out.`)
    const seen = new Set<string>()
    for await (const id of this.#source.namespaces(parent)) {
      const name = id.at(-1)!
      if (seen.has(name)) continue
      seen.add(name)
      await this.#unlessFailed(id, () => this.#namespace(id))
    }
  }

  async #namespace(id: Identifier): Promise<void> {
    await this.#create(id)
    this.#report.namespaces++
    // One that fails does not keep the others from being read.
    for (const kind of ['table', 'view'] as const) await this.#unlessFailed(id, () => this.#entries(kind, id))
    await this.#unlessFailed(id, () => this.#below(id))
  }

  async #entries(kind: Kind, namespace: Identifier): Promise<void> {
    const seen = new Set<string>()
    const names = this.#source.names(kind, namespace)
    const ids = (async function* () {
      for await (const name of names) if (!seen.has(name) && seen.add(name)) yield [...namespace, name]
    })()
    for await (const entry of prefetch(ids, (id) => this.#entry(kind, id), { depth })) {
      if (entry === undefined) continue
      this.#report[entry.outcome]++
      this.#options.onEntry?.(entry)
    }
  }

  async #create(id: Identifier): Promise<void> {
    const properties = await this.#source.properties(id)
    if (this.#options.dryRun) return
    if (await this.#target.createNamespace(id, properties)) this.#report.created++
  }

  /** Undefined for what was dropped since it was listed. */
  async #entry(kind: Kind, id: Identifier): Promise<ImportedEntry | undefined> {
    const { signal, dryRun } = this.#options
    let found: RemoteEntry | undefined
    try {
      found = await this.#source.load(kind, id)
      if (found === undefined) return undefined
      const before = await this.#target.present(kind, id)
      const known = { kind, id, url: found.url, ...locationOf(found) }
      if (before?.url === found.url) return { ...known, outcome: 'same' }
      if (before !== undefined) this.#requireFollows(kind, id, found, before)
      if (!dryRun) await this.#target.register(kind, id, found.url, before)
      return { ...known, outcome: before === undefined ? 'registered' : 'updated' }
    } catch (error) {
      signal?.throwIfAborted()
      return { kind, id, outcome: 'failed', error, ...(found && { url: found.url, ...locationOf(found) }) }
    }
  }

  /** Refuses to replace what was changed in the target, and what is something else there. */
  #requireFollows(kind: Kind, id: Identifier, found: RemoteEntry, before: PresentEntry): void {
    const name = formatIdentifier(id)
    const uuid = uuidOf(kind, found.metadata)
    if (before.uuid !== undefined && uuid !== undefined && before.uuid.toLowerCase() !== uuid.toLowerCase())
      throw invalid(
        `${name} is another ${kind} at the source: its UUID is ${uuid}, and that in the target ${before.uuid}. Drop or rename the one in the target.`,
      )
    if (this.#options.overwrite || follows(kind, found, before)) return
    throw invalid(
      `${name} was changed in the target since it was imported, or more often at the source than its log tells. Choose to overwrite it with the state of the source (--overwrite).`,
    )
  }

  async #unlessFailed(id: Identifier, work: () => Promise<void>): Promise<void> {
    const { signal, onNamespaceFailed } = this.#options
    signal?.throwIfAborted()
    try {
      await work()
    } catch (error) {
      signal?.throwIfAborted()
      this.#report.failed++
      onNamespaceFailed?.(id, error)
    }
  }
}

function locationOf({ metadata }: RemoteEntry): { location?: string } {
  const { location } = metadata
  return typeof location === 'string' ? { location } : {}
}

/** Whether the state of the source came after that of the target. */
function follows(kind: Kind, { metadata }: RemoteEntry, before: PresentEntry): boolean {
  const log = metadata[kind === 'table' ? 'metadata-log' : 'version-log']
  if (!Array.isArray(log)) return false
  if (kind === 'view') return log.some((entry) => isDeepStrictEqual(entry, before.lastChange))
  return log.some(
    (entry) => (entry as { 'metadata-file'?: unknown } | null)?.['metadata-file'] === before.url,
  )
}
