import { type CatalogRecord, catalogFormat, keys } from '../../base/store/records.ts'
import type { CatalogOptions, ContentRoot, Core, Settings } from '../../catalog/index.ts'
import { makeCore } from '../../catalog/local.ts'
import type { MemoryStore } from '../../stores/memory/index.ts'
import { type MemoryParts, memoryParts, memoryRoot } from '../../tabularium/memory.ts'
import type { Subfolder } from './client-folder.ts'

/** A memory catalog with access to its store and core. */
export interface Internals {
  readonly store: MemoryStore
  readonly core: Core
  /** Drops the caches of decoded objects. Call it after a restore: new objects may reuse paths. */
  forget(): void
  /** Gives tables of formats that other protocols serve another folder. */
  useForFormats(folder: Subfolder): void
}

/** The options of a fork. Forks differ in clock, ids and folders only. */
export type InternalOptions = CatalogOptions &
  Required<Pick<CatalogOptions, 'now' | 'newId'>> & { readonly folders: ClientFolders }

/** Where tables lie that clients of other engines write. */
export interface ClientFolders {
  /** For tables that are declared, as those of Lance are. */
  readonly declared: Subfolder | undefined
  /** For tables of formats that other protocols serve. A server may bring a folder of its own. */
  formats: Subfolder | undefined
}

/** An empty catalog, with fixed id and secret. */
export function emptyInternals(id: string, options: InternalOptions): Internals {
  const parts = memoryParts(undefined, options.now)
  const record: CatalogRecord = { v: catalogFormat, id, secret: `secret of ${id}`, created_at: options.now() }
  // Not awaited: a memory store writes synchronously, and an empty one refuses no record.
  void parts.store.write((writer) => writer.put(keys.catalog, record))
  return internalsOf(parts, record, options)
}

/** An independent copy, with its own clock and ids. */
export function forkInternals({ store, core }: Internals, options: InternalOptions): Internals {
  return internalsOf(memoryParts(store.snapshot(), options.now), core.catalog, options)
}

function internalsOf(
  { store, content }: MemoryParts,
  record: CatalogRecord,
  options: InternalOptions,
): Internals {
  const { folders, ...rest } = options
  const { declared } = folders
  const further = [declared, folders.formats].flatMap((folder) => folder?.root ?? [])
  const roots = [memoryRoot(record, content), ...further]
  const make = () => makeCore(store, record, roots, rest)
  let made = make()
  const settings: Settings = {
    ...made.settings,
    get declaredRoot() {
      return declared?.url
    },
    get formatRoot() {
      return folders.formats?.url
    },
  }
  const core: Core = { ...made, settings, engine: (content) => made.engine(content) }
  // Other catalogs begin retention at a random change. A fake must be deterministic.
  core.upkeep.changes = 0
  return {
    store,
    core,
    forget: () => {
      made = make()
      core.upkeep.changes = 0
    },
    useForFormats: (folder) => {
      folders.formats = folder
      roots.push(folder.root)
      // Operations may be under way with the list that the core has.
      ;(core.contentRoots as ContentRoot[]).push(folder.root)
    },
  }
}

/**
 * Sequential ids: the first is `00000000000000000000000001`. They have the format of a catalog's ULIDs. A fork
 * continues the count of its origin.
 */
export class CountedIds {
  /** How many ids were issued. */
  count: number
  readonly next = (): string => String(++this.count).padStart(26, '0')

  constructor(count = 0) {
    this.count = count
  }
}
