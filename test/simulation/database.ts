import { CatalogError } from '../../src/base/errors.ts'
import { append } from '../../src/base/store/append.ts'
import { runBody } from '../../src/base/store/body.ts'
import type { Key, Reader, Store, Value, Writer } from '../../src/base/store/store.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { Clock } from '../../src/stores/postgres/clock.ts'
import { ReadsChanged } from '../../src/stores/staged/read-set.ts'
import { StagedStore } from '../../src/stores/staged/staged-store.ts'
import { ConnectionLost, type Network } from './network.ts'
import { type Actor, beginning, type Scheduler } from './scheduler.ts'

/** The most conflicts of one transaction body before the run fails. */
const mostRaces = 500

/** The commit request of a client: its reads, its writes, and its appends. */
interface Commit {
  readonly id: string
  readonly staged: StagedStore
  readonly appended: readonly (readonly [Key, Value])[]
}

/** A database behind a network. It knows the outcome of each commit, like that of the PostgreSQL store. */
export class Database {
  readonly store = memoryStore()
  readonly actor: Actor
  readonly #scheduler: Scheduler
  /** Whether a commit happened, by id. One that is false never will. */
  readonly #outcomes = new Map<string, boolean>()

  constructor(actor: Actor, scheduler: Scheduler) {
    this.actor = actor
    this.#scheduler = scheduler
  }

  /** The time of its machine, which all clients use. */
  now(): number {
    return Math.floor(beginning + this.#scheduler.now + this.actor.machine.offset)
  }

  /** Commits unless the reads have changed. Returns whether it did. */
  async commit({ id, staged, appended }: Commit): Promise<boolean> {
    const before = this.#outcomes.get(id)
    if (before !== undefined) return before
    try {
      await this.store.write((writer) => {
        staged.check(writer)
        staged.apply(writer)
        for (const [prefix, value] of appended) append(writer, prefix, value)
      })
    } catch (error) {
      if (!(error instanceof ReadsChanged)) throw error
      this.#outcomes.set(id, false)
      return false
    }
    this.#outcomes.set(id, true)
    return true
  }

  /** Whether a commit happened. If not, it never will. */
  happened(id: string): boolean {
    const known = this.#outcomes.get(id)
    if (known === undefined) this.#outcomes.set(id, false)
    return known ?? false
  }
}

/** The store of one process: runs bodies on responses of the database, and compares the reads at commit. */
export class DatabaseClient implements Store {
  readonly features = Object.freeze({ durable: true, multiProcess: true, snapshots: false })
  readonly #actor: Actor
  readonly #database: Database
  readonly #network: Network
  readonly #clock = new Clock()
  #commits = 0

  constructor(actor: Actor, database: Database, network: Network) {
    this.#actor = actor
    this.#database = database
    this.#network = network
  }

  now(): number {
    return this.#clock.now()
  }

  async read<T>(body: (reader: Reader) => T): Promise<T> {
    const snapshot = await this.#snapshot()
    return snapshot.read(body)
  }

  async write<T>(body: (writer: Writer) => T): Promise<T> {
    for (let races = 0; races < mostRaces; races++) {
      const staged = new StagedStore(await this.#snapshot())
      let appended: [Key, Value][] = []
      const result = await staged.write((writer) => {
        appended = []
        return runBody(body, appending(writer, appended))
      })
      if (staged.isUnchanged && appended.length === 0) return result
      const id = `${this.#actor.name} ${++this.#commits}`
      if (await this.#commit({ id, staged, appended })) return result
    }
    throw new CatalogError('ConcurrentModification', `A change lost ${mostRaces} races.`)
  }

  async close(): Promise<void> {}

  async #snapshot(): Promise<Store> {
    const sent = this.#clock.sent()
    const { store, time } = await this.#network.persist(
      this.#actor,
      this.#database.actor,
      'database read',
      () => ({ store: this.#database.store.fork(), time: this.#database.now() }),
    )
    this.#clock.learn(time, sent)
    return store
  }

  async #commit(commit: Commit): Promise<boolean> {
    const { actor } = this.#database
    try {
      return await this.#network.ask(this.#actor, actor, 'database commit', () =>
        this.#database.commit(commit),
      )
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
    }
    // A commit that is not found never happens, so it is retried.
    return this.#network.persist(
      this.#actor,
      actor,
      'database outcome',
      () => this.#database.happened(commit.id),
      {
        millis: 60_000,
        failure: 'The connection was lost during a commit. The change may have been made or not.',
      },
    )
  }
}

function appending(writer: Writer, appended: [Key, Value][]): Writer {
  return {
    get: (key) => writer.get(key),
    range: (range) => writer.range(range),
    put: (key, value) => writer.put(key, value),
    remove: (key) => writer.remove(key),
    append: (prefix, value) => {
      appended.push([prefix, value])
    },
  }
}
