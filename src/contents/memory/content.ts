import type { SharedFiles } from '../../base/content/content.ts'
import { clampRange, folderSegmentsOf, segmentsOf, takenMessage } from '../../base/content/path.ts'
import { CatalogError } from '../../base/errors.ts'
import { MapEdit } from '../../base/memory/ordered-map.ts'
import { StateHolder } from '../../base/memory/state.ts'
import { wallClock } from '../../base/time.ts'
import type { MemoryContent } from './index.ts'

/** Keeps the objects of a state, by their paths. */
export class ContentInMemory implements MemoryContent {
  readonly #holder: StateHolder
  readonly #now: () => number

  constructor(holder: StateHolder, now: () => number = wallClock) {
    this.#holder = holder
    this.#now = now
  }

  async put(path: string, bytes: Uint8Array | readonly Uint8Array[]): Promise<void> {
    segmentsOf(path)
    if (this.#holder.objects.find(path)) throw new CatalogError('ConcurrentModification', takenMessage(path))
    this.#set(path, { bytes: copyOf(bytes), modified: this.#now() })
  }

  async get(path: string, range?: { readonly start: number; readonly end: number }) {
    segmentsOf(path)
    const object = this.#holder.objects.find(path)?.value
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
    const { objects } = this.#holder
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

  /** Made on access, so that a fork costs nothing for it. */
  get shared(): SharedFiles {
    return {
      names: async (prefix) => {
        folderSegmentsOf(prefix)
        const names = Array.from(this.#below(prefix), ([path]) => path.slice(prefix.length))
        return names.filter((name) => !name.includes('/'))
      },
      sync: async (path) => this.#holder.objects.find(path)?.value.bytes.length,
      link: async (from, to) => {
        segmentsOf(to)
        const { objects } = this.#holder
        const source = objects.find(from)?.value
        if (!source) return 'missing'
        if (objects.find(to)) return 'taken'
        this.#set(to, source)
        return 'linked'
      },
      replace: async (path, bytes) => {
        segmentsOf(path)
        this.#set(path, { bytes: copyOf(bytes), modified: this.#now() })
      },
    }
  }

  #set(path: string, object: { readonly bytes: Uint8Array; readonly modified: number }): void {
    const edit = new MapEdit(this.#holder.objects)
    edit.put(path, object)
    this.#holder.setObjects(edit.map())
  }

  fork(now: () => number = this.#now): MemoryContent {
    return new ContentInMemory(new StateHolder(this.#holder.state), now)
  }

  restore(other: MemoryContent): void {
    if (!(other instanceof ContentInMemory))
      throw new TypeError('Only a memory content can be restored from.')
    this.#holder.setObjects(other.#holder.objects)
  }

  /** The objects whose path begins with `prefix`, which ends in a slash or is empty. */
  #below(prefix: string) {
    const { objects } = this.#holder
    // No character is between a slash and a zero.
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
