import type { Content } from '../../base/content/content.ts'
import { StateHolder } from '../../base/memory/state.ts'
import { ContentInMemory } from './content.ts'

/**
 * Content that lives as long as its process. Copies take constant time, whatever its size.
 *
 * The bytes that `get` returns are a view of the object, not a copy: do not write to them.
 */
export interface MemoryContent extends Content {
  /** An independent content that begins with the current objects of this one. Its clock is `now`, if given. */
  fork(now?: () => number): MemoryContent
  /** Replaces all objects here by those of `other`, which stays as it is. */
  restore(other: MemoryContent): void
}

/** An empty memory content. `now` is the clock for the dates of objects. Default: the system's. */
export function memoryContent(now?: () => number): MemoryContent {
  return new ContentInMemory(new StateHolder(), now)
}
