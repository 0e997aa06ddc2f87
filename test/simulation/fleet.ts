import type { Content } from '../../src/base/content/content.ts'
import {
  CatalogError,
  type CatalogOptions,
  type LocalCatalog,
  openCatalog,
  type Store,
} from '../../src/tabularium/index.ts'
import { at } from '../support/draw.ts'
import { Database, DatabaseClient } from './database.ts'
import { Directory, directoryContent, type OpenStore, openUnderLock } from './directory.ts'
import { Network } from './network.ts'
import { ObjectStorage, objectClient } from './objects.ts'
import { Actor, Machine, type Scheduler } from './scheduler.ts'
import type { Script } from './script.ts'

/** The prefix of all locations. */
export const root = 's3://sim'

/** Reintroduces a fixed bug for tests, by a wrapper of a part of every process. */
export interface Mutation {
  readonly openStore?: OpenStore
  store?(store: Store, actor: Actor): Store
  content?(content: Content, actor: Actor): Content
  opened?(catalog: LocalCatalog): void
}

/** A server: a sequence of processes of one name on one machine. */
export interface Server {
  readonly name: string
  readonly machine: Machine
  /** How often it has started. */
  starts: number
  actor: Actor
  /** The catalog of the current process. Never resolves if the process ends first. */
  catalog: Promise<LocalCatalog>
}

/** Servers of one catalog, with its services and machines. */
export class Fleet {
  readonly scheduler: Scheduler
  readonly network: Network
  readonly servers: readonly Server[]
  readonly services: readonly Actor[]
  readonly machines: readonly Machine[]
  readonly directory: Directory | undefined
  /** All records, of all processes. */
  readonly records: Store
  readonly objects: Content
  readonly #options: CatalogOptions
  readonly #mutation: Mutation
  readonly #connect: (actor: Actor) => Promise<{ store: Store; content: Content }>
  /** Called when a process of a server has started. */
  onStart: (server: Server) => void = () => {}
  failure: unknown
  /** Whether machines may pause right after sending. */
  readonly hasStalls: boolean

  constructor(
    scheduler: Scheduler,
    { place, servers, transactionCount, faults }: Script,
    mutation: Mutation,
  ) {
    this.scheduler = scheduler
    this.#mutation = mutation
    this.hasStalls = faults.some(({ kind }) => kind === 'stall')
    this.network = new Network(scheduler)
    this.#options = { threads: 0, transactionCount, cacheBytes: 1024 * 1024 }
    const home = new Machine()
    if (place === 'directory') {
      const directory = new Directory(home, scheduler)
      const open = mutation.openStore ?? openUnderLock
      this.directory = directory
      this.records = directory.store
      this.objects = directory.files
      this.services = []
      this.#connect = async (actor) => ({
        store: await open(directory, actor),
        content: directoryContent(directory, actor),
      })
    } else {
      const database = new Database(new Actor('database', new Machine()), scheduler)
      const storage = new ObjectStorage(new Actor('objects', new Machine()), scheduler)
      this.services = [database.actor, storage.actor]
      this.records = database.store
      this.objects = storage.content
      this.#connect = async (actor) => ({
        store: new DatabaseClient(actor, database, this.network),
        content: objectClient(actor, storage, this.network),
      })
    }
    this.servers = Array.from({ length: servers }, (_, number) => {
      const machine = place === 'directory' ? home : new Machine()
      const name = `server ${number}`
      return { name, machine, starts: 0, actor: new Actor(name, machine), catalog: never }
    })
    const own = [...this.servers, ...this.services.map((machine) => ({ machine }).machine)]
    this.machines = [...new Set(own.map(({ machine }) => machine))]
  }

  /** Starts a process that replaces the previous one. */
  start(server: Server, millis = 0): void {
    const actor = new Actor(`${server.name}.${++server.starts}`, server.machine)
    server.actor.isAlive = false
    server.actor = actor
    server.catalog = new Promise((resolve) => {
      const open = async () => {
        try {
          resolve(await this.#open(actor))
          this.onStart(server)
        } catch (error) {
          if (!(error instanceof CatalogError) || error.code !== 'ServiceUnavailable') {
            this.failure ??= error
            return
          }
          this.scheduler.after(actor, 1_000, 'start again', open)
        }
      }
      this.scheduler.after(actor, millis, 'start', open)
    })
  }

  /** Kills a process. Another one starts later. */
  kill(server: Server, millis: number): void {
    this.#end(server)
    this.start(server, millis)
  }

  /** Crashes a machine with all of its processes. */
  crash(machine: Machine, millis: number): void {
    const there = this.servers.filter((server) => server.machine === machine)
    for (const server of there) this.#end(server)
    if (this.directory?.machine === machine) this.directory.crash()
    for (const server of there) this.start(server, millis)
  }

  /** Runs work in the current process of a server, until that process ends. */
  inside(server: Server, work: (catalog: LocalCatalog) => Promise<void>): void {
    const { actor, catalog } = server
    const run = async () => {
      try {
        await work(await catalog)
      } catch (error) {
        this.failure ??= error
      }
    }
    this.scheduler.after(actor, 0, 'client', run)
  }

  #end(server: Server): void {
    server.actor.isAlive = false
    this.directory?.ended(server.actor)
    this.scheduler.note(server.actor, 'ends')
  }

  async #open(actor: Actor): Promise<LocalCatalog> {
    const { store, content } = await this.#connect(actor)
    const catalog = await openCatalog({
      store: this.#mutation.store?.(store, actor) ?? store,
      content: this.#mutation.content?.(content, actor) ?? content,
      root,
      ...this.#options,
    })
    this.#mutation.opened?.(catalog)
    return catalog
  }
}

const never = new Promise<never>(() => {})

/** The item at an index, modulo the length. */
export function numbered<T>(items: readonly T[], number: number): T {
  return at(items, number % items.length)
}
