import { type MemorySnapshot, StateHolder } from '../base/memory/state.ts'
import type { CatalogRecord } from '../base/store/records.ts'
import type { ContentRoot } from '../catalog/index.ts'
import { ContentInMemory } from '../contents/memory/content.ts'
import type { MemoryContent } from '../contents/memory/index.ts'
import type { MemoryStore } from '../stores/memory/index.ts'
import { StoreInMemory } from '../stores/memory/store.ts'

/** The parts of a catalog in memory. Both share one state, so a snapshot of the store includes the content. */
export interface MemoryParts {
  readonly store: MemoryStore
  readonly content: MemoryContent
}

/** A store and a content with the state of `snapshot`, or empty ones. */
export function memoryParts(snapshot?: MemorySnapshot, now?: () => number): MemoryParts {
  const state = new StateHolder(snapshot)
  return { store: new StoreInMemory(state), content: new ContentInMemory(state, now) }
}

/** The content root of a catalog in memory. */
export function memoryRoot(catalog: CatalogRecord, content: MemoryContent): ContentRoot {
  return { url: `memory://${catalog.id}/`, content, reserved: new Set() }
}
