import type { Content, ListedObject } from '../../src/base/content/content.ts'
import { CatalogError } from '../../src/base/errors.ts'
import { StateHolder } from '../../src/base/memory/state.ts'
import { ContentInMemory } from '../../src/contents/memory/content.ts'
import type { Network } from './network.ts'
import { type Actor, beginning, type Scheduler } from './scheduler.ts'

/** How long requests for an object are retried after lost connections. */
const patience = { millis: 30_000 }

/** Object storage behind a network. It dates objects by the clock of its machine. */
export class ObjectStorage {
  readonly actor: Actor
  readonly content: ContentInMemory
  /** The attempt that put each object, so that a retry recognizes its own object. */
  readonly writers = new Map<string, string>()

  constructor(actor: Actor, scheduler: Scheduler) {
    this.actor = actor
    this.content = new ContentInMemory(new StateHolder(), () =>
      Math.floor(beginning + scheduler.now + actor.machine.offset),
    )
  }

  async put(path: string, bytes: Uint8Array, attempt: string): Promise<boolean> {
    try {
      await this.content.put(path, bytes)
      this.writers.set(path, attempt)
      return true
    } catch (error) {
      if (!(error instanceof CatalogError) || error.code !== 'ConcurrentModification') throw error
      return this.writers.get(path) === attempt
    }
  }

  async list(prefix: string): Promise<ListedObject[]> {
    const found: ListedObject[] = []
    for await (const object of this.content.list(prefix)) found.push(object)
    return found
  }
}

/** The object storage client of one process. */
export function objectClient(actor: Actor, storage: ObjectStorage, network: Network): Content {
  let attempts = 0
  const ask = <T>(label: string, work: () => T | Promise<T>) =>
    network.persist(actor, storage.actor, label, work, patience)
  const list = (prefix: string) => ask('objects list', () => storage.list(prefix))
  const removeOne = (path: string) => ask('object remove', () => storage.content.remove(path))
  return {
    async put(path, bytes) {
      // Copied: the caller may reuse the bytes once this settles.
      const copy = new Uint8Array(Buffer.concat(bytes instanceof Uint8Array ? [bytes] : [...bytes]))
      const attempt = `${actor.name} ${++attempts}`
      if (await ask('object put', () => storage.put(path, copy, attempt))) return
      throw new CatalogError('ConcurrentModification', `There is an object at ${path}.`)
    },
    get: (path, range) => ask('object get', () => storage.content.get(path, range)),
    async *list(prefix) {
      yield* await list(prefix)
    },
    async remove(path) {
      if (!path.endsWith('/')) return removeOne(path)
      for (const found of await list(path)) await removeOne(found.path)
    },
  }
}
