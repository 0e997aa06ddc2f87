import { type CatalogRecord, catalogFormat, keys } from '../../base/store/records.ts'
import type { Core, Settings } from '../../catalog/handle/core.ts'
import { type CatalogOptions, makeCore } from '../../catalog/handle/open-core.ts'
import type { MemoryStore } from '../../stores/memory/index.ts'
import { type MemoryParts, memoryParts, memoryRoot } from '../../tabularium/memory.ts'
import type { DeclaredPlace } from './lance-folder.ts'

/** A memory catalog, opened up. */
export interface Internals {
  readonly store: MemoryStore
  readonly core: Core
  /** Drops what was decoded. Call it after a restore: later objects may come under paths that were used before. */
  forget(): void
}

/** What does not change from fork to fork but for clock and ids. */
export type InternalOptions = CatalogOptions &
  Required<Pick<CatalogOptions, 'now' | 'newId'>> & { readonly declared?: DeclaredPlace | undefined }

/** An empty catalog, the same every time. */
export function emptyInternals(id: string, options: InternalOptions): Internals {
  const parts = memoryParts(undefined, options.now)
  const record: CatalogRecord = { v: catalogFormat, id, secret: `secret of ${id}`, created_at: options.now() }
  // A memory store writes before it answers, and an empty one refuses no record.
  void parts.store.write((writer) => writer.put(keys.catalog, record))
  return internalsOf(parts, record, options)
}

/** A copy that goes its own way from here, with a clock and ids of its own. */
export function forkInternals({ store, core }: Internals, options: InternalOptions): Internals {
  return internalsOf(memoryParts(store.snapshot(), options.now), core.catalog, options)
}

function internalsOf(
  { store, content }: MemoryParts,
  record: CatalogRecord,
  options: InternalOptions,
): Internals {
  const { declared, ...rest } = options
  const roots = [memoryRoot(record, content), ...(declared ? [declared.root] : [])]
  const make = () => makeCore(store, record, roots, rest)
  let made = make()
  const settings: Settings = {
    ...made.settings,
    get declaredRoot() {
      return declared?.url
    },
  }
  const core: Core = { ...made, settings, engine: (content) => made.engine(content) }
  // In other catalogs chance decides when retention begins. A fake does the same in every run.
  core.upkeep.changes = 0
  return {
    store,
    core,
    forget: () => {
      made = make()
      core.upkeep.changes = 0
    },
  }
}
