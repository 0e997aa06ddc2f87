import { CatalogError } from '../../errors.ts'
import type { Content } from '../content.ts'
import { clampRange, folderSegmentsOf, segmentsOf, takenMessage } from '../path.ts'
import { Shelves } from './path-map.ts'

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

interface StoredObject {
  readonly bytes: Uint8Array
  readonly modified: number
}

/** An empty memory content. `now` tells the time that objects are dated by: the system's, unless given. */
export function memoryContent(now: () => number = Date.now): MemoryContent {
  return new ShelvedContent(new Shelves(), now)
}

class ShelvedContent implements MemoryContent {
  #objects: Shelves<StoredObject>
  readonly #now: () => number

  constructor(objects: Shelves<StoredObject>, now: () => number) {
    this.#objects = objects
    this.#now = now
  }

  async put(path: string, bytes: Uint8Array | readonly Uint8Array[]): Promise<void> {
    segmentsOf(path)
    if (this.#objects.get(path)) throw new CatalogError('ConcurrentModification', takenMessage(path))
    this.#objects = this.#objects.with(path, { bytes: copyOf(bytes), modified: this.#now() })
  }

  async get(path: string, range?: { readonly start: number; readonly end: number }) {
    segmentsOf(path)
    const object = this.#objects.get(path)
    if (!object) return undefined
    const { start, end } = clampRange(object.bytes.length, range)
    return object.bytes.subarray(start, end)
  }

  async *list(prefix: string) {
    folderSegmentsOf(prefix)
    for (const [path, { bytes, modified }] of this.#objects.under(prefix)) {
      yield { path, size: bytes.length, modified }
    }
  }

  async remove(path: string): Promise<void> {
    if (path.endsWith('/')) folderSegmentsOf(path)
    else segmentsOf(path)
    this.#objects = this.#objects.without(path)
  }

  fork(now = this.#now): MemoryContent {
    return new ShelvedContent(this.#objects, now)
  }

  restore(other: MemoryContent): void {
    if (!(other instanceof ShelvedContent)) throw new TypeError('Only a memory content can be restored from.')
    this.#objects = other.#objects
  }
}

function copyOf(bytes: Uint8Array | readonly Uint8Array[]): Uint8Array {
  const parts = bytes instanceof Uint8Array ? [bytes] : bytes
  const copy = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    copy.set(part, at)
    at += part.length
  }
  return copy
}
