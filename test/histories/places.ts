import { rm } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import type { Content } from '../../src/base/content/content.ts'
import type { Store } from '../../src/base/store/store.ts'
import { fileContent } from '../../src/contents/files/index.ts'
import { memoryContent } from '../../src/contents/memory/index.ts'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { type CatalogOptions, type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { coreOf } from '../../src/tabularium/local-handle.ts'
import { overHttp } from '../client/over-http.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { gate } from '../support/gate.ts'
import { sharedServer } from '../support/postgres.ts'

/** A place of a catalog that is opened many times: after it was closed, and after its process died. */
export interface Place extends AsyncDisposable {
  readonly name: string
  /** The prefix of locations below the catalog's own root. */
  readonly root: string
  readonly content: Content
  open(options: CatalogOptions): Promise<Opened>
}

interface Opened {
  readonly catalog: LocalCatalog
  /** The same without a server between. */
  readonly local: LocalCatalog
  readonly power: Power
}

/** The power of a process. When it is cut, no change begins any more, and none under way gets its answer. */
class Power {
  #left = Number.POSITIVE_INFINITY
  readonly #cut = gate()
  #isCut = false

  /** Resolves when it is cut. */
  get cut(): Promise<void> {
    return this.#cut.opened
  }

  /** Cuts it after so many further beginnings and ends of changes. */
  cutAfter(steps: number): void {
    this.#left = steps
  }

  cutNow(): void {
    this.#isCut = true
    this.#cut.open()
  }

  async change<T>(work: () => Promise<T>): Promise<T> {
    await this.#step()
    const result = await work()
    await this.#step()
    return result
  }

  #step(): Promise<void> | undefined {
    if (!this.#isCut && this.#left-- <= 0) this.cutNow()
    return this.#isCut ? new Promise(() => {}) : undefined
  }
}

/** The object, with `changes` that need power. A turn that a dead process had would last in this one: there are none. */
function powered<T extends object>(power: Power, object: T, changes: readonly string[]): T {
  return new Proxy(object, {
    get(target, name) {
      if (name === 'inTurn' || name === 'isTurnTaken') return undefined
      const member = Reflect.get(target, name, target) as unknown
      if (typeof member !== 'function') return member
      if (name === 'group') return () => powered(power, member.call(target) as object, ['put', 'sync'])
      if (!changes.includes(String(name))) return member.bind(target)
      return (...given: unknown[]) => power.change(async () => member.apply(target, given))
    },
  })
}

interface Parts {
  readonly root: string
  readonly content: Content
  /** Opens the store, as long as it is closed. */
  openStore(): Promise<Store>
  readonly isServed?: boolean
  remove?(): Promise<void>
}

function placeOf(name: string, { root, content, openStore, isServed = false, remove }: Parts): Place {
  let store: Store | undefined
  return {
    name,
    root,
    content,
    async open(options) {
      store ??= await openStore()
      const power = new Power()
      const used = powered(power, store, ['write'])
      const local = await openCatalog({
        ...options,
        store: Object.assign(Object.create(used), {
          close: async () => {
            const open = store
            store = undefined
            await open?.close()
          },
        }) as Store,
        content: powered(power, content, ['put', 'remove']),
        root,
      })
      // As in tests. Soaks count the work of a catalog, too.
      coreOf(local).upkeep.changes = 0
      return { catalog: isServed ? await overHttp(local) : local, local, power }
    },
    async [Symbol.asyncDispose]() {
      await store?.close()
      await remove?.()
    },
  }
}

function memoryPlace(name: string, isServed: boolean): Place {
  const store = memoryStore()
  const kept = Object.assign(Object.create(powered(new Power(), store, [])), {
    close: async () => {},
  }) as Store
  return placeOf(name, {
    root: 'memory://here/',
    content: memoryContent(),
    openStore: async () => kept,
    isServed,
  })
}

/** Makes an empty place of each kind. */
export const places = {
  memory: async () => memoryPlace('memory', false),

  http: async () => memoryPlace('memory, over HTTP', true),

  async lmdb() {
    const directory = await temporaryDirectory()
    return placeOf('lmdb', {
      root: `${pathToFileURL(directory).href}/`,
      content: fileContent(directory),
      openStore: () => openLmdbStore(directory, { companions: ['tables'] }),
      remove: () => rm(directory, { recursive: true, force: true }),
    })
  },

  async postgres() {
    const url = await (await sharedServer()).freshUrl()
    return placeOf('PostgreSQL', {
      root: 'memory://here/',
      content: memoryContent(),
      openStore: () => openPostgresStore(url),
    })
  },
} satisfies Record<string, () => Promise<Place>>
