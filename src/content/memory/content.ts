import { CatalogError } from '../../errors.ts'
import { MapEdit } from '../../memory/ordered-map.ts'
import { StateHolder } from '../../memory/state.ts'
import { clampRange, folderSegmentsOf, segmentsOf, takenMessage } from '../path.ts'
import type { MemoryContent } from './index.ts'

/** Keeps the objects of a state, by their paths. */
export class ContentInMemory implements MemoryContent {
  readonly #holder: StateHolder
  readonly #now: () => number

  constructor(holder: StateHolder, now: () => number = Date.now) {
    this.#holder = holder
    this.#now = now
  }

  async put(path: string, bytes: Uint8Array | readonly Uint8Array[]): Promise<void> {
    segmentsOf(path)
    const { objects } = this.#holder.state
    if (objects.find(path)) throw new CatalogError('ConcurrentModification', takenMessage(path))
    const edit = new MapEdit(objects)
    edit.put(path, { bytes: copyOf(bytes), modified: this.#now() })
    this.#holder.setObjects(edit.map())
  }

  async get(path: string, range?: { readonly start: number; readonly end: number }) {
    segmentsOf(path)
    const object = this.#holder.state.objects.find(path)?.value
    if (!object) return undefined
    const { start, end } = clampRange(object.bytes.length, range)
    return object.bytes.subarray(start, end)
  }

  async *list(prefix: string) {
    folderSegmentsOf(prefix)
    for (const [path, { bytes, modified }] of this.#below(prefix)) {
      yield { path, size: bytes.length, modified }
    }
  }

  async remove(path: string): Promise<void> {
    const { objects } = this.#holder.state
    const edit = new MapEdit(objects)
    if (path.endsWith('/')) {
      folderSegmentsOf(path)
      for (const [below] of this.#below(path)) edit.remove(below)
    } else {
      segmentsOf(path)
      edit.remove(path)
    }
    const left = edit.map()
    if (left.size < objects.size) this.#holder.setObjects(left)
  }

  fork(now: () => number = this.#now): MemoryContent {
    return new ContentInMemory(new StateHolder(this.#holder.state), now)
  }

  restore(other: MemoryContent): void {
    if (!(other instanceof ContentInMemory))
      throw new TypeError('Only a memory content can be restored from.')
    this.#holder.setObjects(other.#holder.state.objects)
  }

  /** The objects whose path begins with `prefix`, which ends in a slash or is empty. */
  #below(prefix: string) {
    const { objects } = this.#holder.state
    // No character lies between a slash and a zero.
    return prefix === '' ? objects.entries() : objects.entries(prefix, `${prefix.slice(0, -1)}0`)
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
