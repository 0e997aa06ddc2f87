import type { Content, PutGroup } from '../../src/base/content/content.ts'
import { CatalogError } from '../../src/base/errors.ts'
import { StateHolder } from '../../src/base/memory/state.ts'
import type { Reader, Store, Writer } from '../../src/base/store/store.ts'
import { ContentInMemory } from '../../src/contents/memory/content.ts'
import { type MemorySnapshot, memoryStore } from '../../src/stores/memory/index.ts'
import { type Actor, beginning, type Machine, type Scheduler } from './scheduler.ts'

/** How long a process waits for the lock of the store. */
const lockMillis = 30_000

interface Waiting {
  readonly actor: Actor
  readonly begin: () => void
}

/**
 * A model of a directory on one machine, for LMDB and files. All processes see writes at once. Writes survive a crash
 * of the machine after a sync. One process at a time holds the lock for opening and committing.
 */
export class Directory {
  readonly machine: Machine
  readonly store = memoryStore()
  readonly files: ContentInMemory
  /** Files that a crash of the machine may remove; incomplete ones may also be truncated. */
  readonly unsynced = new Map<string, 'whole' | 'torn'>()
  readonly scheduler: Scheduler
  readonly #holder = new StateHolder()
  #durable: MemorySnapshot = this.store.snapshot()
  #owner: Actor | undefined
  #waiting: Waiting[] = []

  constructor(machine: Machine, scheduler: Scheduler) {
    this.machine = machine
    this.scheduler = scheduler
    const now = () => Math.floor(beginning + scheduler.now + machine.offset)
    this.files = new ContentInMemory(this.#holder, now)
  }

  /** Waits for the disk. */
  work(actor: Actor, millis: number, label: string): Promise<void> {
    return this.scheduler.sleep(actor, this.scheduler.draw.next() * millis, label)
  }

  async locked<T>(actor: Actor, work: () => Promise<T>): Promise<T> {
    await this.#lock(actor)
    try {
      return await work()
    } finally {
      this.#pass(actor)
    }
  }

  /** Releases the locks of a process, like the kernel. */
  ended(actor: Actor): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting.actor !== actor)
    this.#pass(actor)
  }

  sync(): void {
    this.#durable = this.store.snapshot()
  }

  /** The machine crashes, after its processes have ended. */
  crash(): void {
    const { draw } = this.scheduler
    // The last meta page may not have reached the disk. Then the previous commit is the latest.
    if (draw.chance(0.5)) this.store.restore(this.#durable)
    else this.sync()
    let { objects } = this.#holder.state
    const kept = this.files.fork()
    for (const [path, how] of this.unsynced) {
      const there = objects.find(path)
      if (there === undefined) continue
      void kept.remove(path)
      if (draw.chance(0.5)) continue
      const { bytes } = there.value
      void kept.put(path, how === 'torn' ? bytes.subarray(0, draw.below(bytes.length)) : bytes)
    }
    this.files.restore(kept)
    objects = this.#holder.state.objects
    this.unsynced.clear()
  }

  #lock(actor: Actor): Promise<void> {
    if (this.#owner === undefined) {
      this.#owner = actor
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const late = this.scheduler.after(actor, lockMillis, 'lock given up', () => {
        this.#waiting = this.#waiting.filter(({ begin: other }) => other !== begin)
        reject(new CatalogError('ServiceUnavailable', 'Another process holds the lock of the store.'))
      })
      const begin = () => {
        late.isCalledOff = true
        this.scheduler.after(actor, 0.1, 'lock', resolve)
      }
      this.#waiting.push({ actor, begin })
    })
  }

  #pass(actor: Actor): void {
    if (this.#owner !== actor) return
    const next = this.#waiting.shift()
    this.#owner = next?.actor
    next?.begin()
  }
}

/** How a process opens the store. Tests replace it. */
export type OpenStore = (directory: Directory, actor: Actor) => Promise<Store>

/** Reads the last commit and writes its number, under the lock that excludes commits. */
export const openUnderLock: OpenStore = async (directory, actor) => {
  await directory.locked(actor, () => beginEnvironment(directory, actor))
  return directoryStore(directory, actor)
}

/** Opening in LMDB: reads the last commit, and makes it the current one. */
export async function beginEnvironment(directory: Directory, actor: Actor): Promise<void> {
  const last = directory.store.snapshot()
  await directory.work(actor, 4, 'open store')
  directory.store.restore(last)
}

/** The store of one process. */
export function directoryStore(directory: Directory, actor: Actor): Store {
  const { store } = directory
  return {
    features: Object.freeze({ durable: true, multiProcess: true, snapshots: false }),
    read: <T>(body: (reader: Reader) => T) => store.read(body),
    write: <T>(body: (writer: Writer) => T) =>
      directory.locked(actor, async () => {
        const begun = store.fork()
        const result = await begun.write(body)
        await directory.work(actor, 1, 'write pages')
        store.restore(begun.snapshot())
        await directory.work(actor, 3, 'sync store')
        directory.sync()
        return result
      }),
    state: () => store.state!()!,
    close: async () => {},
  }
}

/** The files of one process. */
export function directoryContent(directory: Directory, actor: Actor): Content {
  const { files, unsynced } = directory
  return {
    async put(path, bytes) {
      await directory.work(actor, 2, 'write file')
      await files.put(path, bytes)
      unsynced.set(path, 'whole')
      await directory.work(actor, 2, 'sync folder')
      unsynced.delete(path)
    },
    get: (path, range) => files.get(path, range),
    list: (prefix) => files.list(prefix),
    async remove(path) {
      await directory.work(actor, 0.5, 'remove file')
      await files.remove(path)
    },
    group: (): PutGroup => {
      const written: string[] = []
      return {
        async put(path, bytes) {
          await files.put(path, bytes)
          unsynced.set(path, 'torn')
          written.push(path)
          await directory.work(actor, 0.5, 'write file')
        },
        async sync() {
          await directory.work(actor, 3, 'sync files')
          for (const path of written.splice(0)) unsynced.delete(path)
        },
      }
    },
  }
}
