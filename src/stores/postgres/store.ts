import { closedError, nestedError } from '../../base/store/body.ts'
import { isOtherHome, type StoreHome } from '../../base/store/home.ts'
import type { Reader, Store, StoreFeatures, StoreMetrics, Writer } from '../../base/store/store.ts'
import type { Address } from './address.ts'
import { Attempt } from './attempt.ts'
import { check, engineOf } from './check.ts'
import { Clock } from './clock.ts'
import type { Connection } from './connection.ts'
import { explain } from './failure.ts'
import { isLaterServer, requireHome } from './home.ts'
import { Pool } from './pool.ts'
import { ProcessTurns } from './process-turns.ts'
import { ReadPath } from './read-path.ts'
import { RecordCache } from './record-cache.ts'
import { type Job, readInto, runReader, type StoreContext } from './store-context.ts'
import { View } from './view.ts'
import { WritePath } from './write-path.ts'

const features: StoreFeatures = Object.freeze({
  durable: true,
  multiProcess: true,
  snapshots: false,
  inlineBytes: 16 * 1024,
})
const lossyFeatures: StoreFeatures = Object.freeze({ ...features, durable: false })

/** The records of a catalog in a database. */
export class PostgresStore implements Store {
  readonly #context: StoreContext
  readonly #reads: ReadPath
  readonly #writes: WritePath
  readonly #turns: ProcessTurns
  readonly #pending = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  private constructor(context: StoreContext) {
    this.#context = context
    this.#reads = new ReadPath(context)
    this.#writes = new WritePath(context, this.#reads)
    this.#turns = new ProcessTurns(context)
  }

  get features(): StoreFeatures {
    return this.#context.engine.isDurable ? features : lossyFeatures
  }

  static async open(address: Address, hasTurns?: boolean): Promise<PostgresStore> {
    const checkConnection = async (connection: Connection) => {
      const engine = await check(connection, address)
      if (isOtherHome(context.engine.home, engine.home))
        await requireHome(connection, address, engine.home ?? {})
      // The earlier connections reach a server that may not know yet that it was replaced.
      if (isLaterServer(context.engine, engine, address.label)) context.pool.keepOnly(connection)
      context.engine = hasTurns === undefined ? engine : { ...engine, hasTurns }
    }
    const context: StoreContext = {
      address,
      pool: new Pool(address, checkConnection),
      cache: new RecordCache(),
      clock: new Clock(),
      engine: engineOf(''),
      isBusy: false,
    }
    const store = new PostgresStore(context)
    try {
      // No retry: an unreachable server is reported at once. The answer also sets the clock.
      await context.pool.shared((connection) => readInto(context, connection, new View()))
    } catch (error) {
      await context.pool.close()
      throw explain(error, address.label)
    }
    if (!context.engine.isDurable) warnOfLoss(address)
    return store
  }

  async read<T>(body: (reader: Reader) => T): Promise<T> {
    this.#refuse()
    return this.#settled<T>({ body }, (job) => this.#reads.run(job))
  }

  async write<T>(body: (writer: Writer) => T): Promise<T> {
    this.#refuse()
    return this.#settled<T>({ body }, (job) => this.#writes.run(job))
  }

  guess<T>(body: (reader: Reader) => T): T | undefined {
    this.#refuse()
    const attempt = new Attempt(new View(), this.#context.cache)
    const job: Job = { body }
    runReader(this.#context, job, attempt)
    if ('error' in job.outcome! || !attempt.isKnown) return undefined
    return job.outcome!.result as T
  }

  /** The database's time, since the clocks of machines may differ and leases compare their times. */
  now(): number {
    return this.#context.clock.now()
  }

  home(): StoreHome | undefined {
    return this.#context.engine.home
  }

  async inTurn<T>(name: string | readonly string[], work: () => Promise<T>): Promise<T> {
    this.#refuse()
    return this.#turns.run([name].flat(), work)
  }

  async isTurnTaken(name: string): Promise<boolean> {
    this.#refuse()
    return this.#turns.isTaken(name)
  }

  metrics(): StoreMetrics {
    return { lostCommits: this.#writes.lostRaces, connections: this.#context.pool.use }
  }

  close(): Promise<void> {
    this.#closing ??= Promise.allSettled(this.#pending).then(() => {
      this.#writes.close()
      return this.#context.pool.close()
    })
    return this.#closing
  }

  async #settled<T>(job: Job, run: (job: Job) => Promise<void>): Promise<T> {
    const done = run(job)
    this.#pending.add(done)
    try {
      await done
    } catch (error) {
      throw explain(error, this.#context.address.label)
    } finally {
      this.#pending.delete(done)
    }
    if ('error' in job.outcome!) throw job.outcome.error
    return job.outcome!.result as T
  }

  #refuse(): void {
    if (this.#closing) throw closedError()
    if (this.#context.isBusy) throw nestedError()
  }
}

/** The servers that this process has warned about. */
const warned = new Set<string>()

function warnOfLoss({ host, port }: Address): void {
  const server = `${host}:${port}`
  if (warned.has(server)) return
  warned.add(server)
  process.emitWarning(
    `The PostgreSQL server on ${server} runs with fsync or full_page_writes off: a power cut may lose or damage all of the catalog. Switch both on, unless it holds nothing of worth.`,
    { type: 'TabulariumWarning', code: 'TABULARIUM_DATABASE_SYNC' },
  )
}
