import type { Content } from '../../base/content/content.ts'
import { StateHolder } from '../../base/memory/state.ts'
import { ContentInMemory } from './content.ts'

/**
 * Content that lives as long as its process. Copies take constant time, whatever it holds.
 *
 * What `get` answers is a view of the object itself, not a copy: it must not be written to.
 */
export interface MemoryContent extends Content {
  /** A content of its own that begins with what this one holds now; with a clock of its own if one is given. */
  fork(now?: () => number): MemoryContent
  /** Puts the objects of `other` in the place of all that is here; `other` itself is left alone. */
  restore(other: MemoryContent): void
}

/** An empty memory content. `now` tells the time that objects are dated by: the system's, unless given. */
export function memoryContent(now?: () => number): MemoryContent {
  return new ContentInMemory(new StateHolder(), now)
}
