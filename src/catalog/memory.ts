import { ContentInMemory } from '../content/memory/content.ts'
import type { MemoryContent } from '../content/memory/index.ts'
import type { ContentRoot } from '../locations/locations.ts'
import { type MemorySnapshot, StateHolder } from '../memory/state.ts'
import type { MemoryStore } from '../store/memory/index.ts'
import { StoreInMemory } from '../store/memory/store.ts'
import type { CatalogRecord } from '../store/records.ts'

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
