import { type MemorySnapshot, StateHolder } from '../base/memory/state.ts'
import type { CatalogRecord } from '../base/store/records.ts'
import type { ContentRoot } from '../catalog/locations/locations.ts'
import { ContentInMemory } from '../contents/memory/content.ts'
import type { MemoryContent } from '../contents/memory/index.ts'
import type { MemoryStore } from '../stores/memory/index.ts'
import { StoreInMemory } from '../stores/memory/store.ts'

/** What a catalog in memory consists of. Both share one state, so that a snapshot of the store holds the content. */
export interface MemoryParts {
  readonly store: MemoryStore
  readonly content: MemoryContent
}

/** A store and a content that begin with what `snapshot` holds, or empty. */
export function memoryParts(snapshot?: MemorySnapshot, now?: () => number): MemoryParts {
  const holder = new StateHolder(snapshot)
  return { store: new StoreInMemory(holder), content: new ContentInMemory(holder, now) }
}

/** Where a catalog in memory keeps its tables. */
export function memoryRoot(catalog: CatalogRecord, content: MemoryContent): ContentRoot {
  return { url: `memory://${catalog.id}/`, content, reserved: new Set() }
}
