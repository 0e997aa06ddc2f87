import { CatalogError } from '../../base/errors.ts'
import { checkOptions, type OptionChecks, text, whole } from '../../base/model/options.ts'
import { anySignal } from '../../base/scheduling/signals.ts'
import type {
  AnyOperation,
  Catalog,
  CatalogOptions,
  OperationContext,
  OperationOptions,
  Transact,
  TransactionOptions,
} from '../../catalog/index.ts'
import { catalogOptionChecks, runOperation } from '../../catalog/local.ts'
import { localHandle } from '../../tabularium/local-handle.ts'
import { CallLog, type CallName, OpenCalls } from './calls.ts'
import { ClientFolder } from './client-folder.ts'
import { ManualClock } from './clock.ts'
import type { FakeCatalog, FakeSnapshot, ServedFakeOptions } from './fake.ts'
import type { Fault, Matched } from './fault.ts'
import { FaultSet } from './faults.ts'
import { type FolderForFormats, foldersForFormats } from './formats-folder.ts'
import {
  type ClientFolders,
  CountedIds,
  emptyInternals,
  forkInternals,
  type InternalOptions,
  type Internals,
} from './internals.ts'
import { Acknowledged, type FakeCall, inOrder, runWithFaults, withEffects } from './run.ts'
import { applySeed, type Seed } from './seed.ts'
import { transactWithin } from './transaction.ts'

/** The options of a fake catalog. All are optional. */
export interface FakeOptions
  extends Omit<CatalogOptions, 'now' | 'newId' | 'locationRoots' | 'contentCache'> {
  /** The initial content: a tree of namespaces and tables, or a function that fills the catalog. */
  readonly seed?: Seed | ((catalog: Catalog) => unknown) | undefined
  /** The initial time of its clock. Default: 2026-01-01T00:00:00Z. */
  readonly now?: number | Date | string | undefined
  /** The catalog's id, the host of its tables' locations (`memory://fake/`). Default: `fake`. */
  readonly id?: string | undefined
  /** Faults in force from the start. */
  readonly faults?: readonly Fault[] | undefined
  /** The seed of the random numbers for faults with a `probability`. Default: 1. */
  readonly randomSeed?: number | undefined
  /** How many calls the record keeps. Default: 1,000. */
  readonly keepCalls?: number | undefined
  /**
   * An empty folder on disk for tables that are declared without a location, so that Lance's own clients can write and
   * read them. The fake manages their versions, so faults and the record of calls see each commit. It never removes the
   * folder. Tables with rows of the catalog stay in memory. Default: none.
   */
  readonly lanceFolder?: string | undefined
  /**
   * An empty folder on disk for new tables of Iceberg, so that its engines can write and read their files. The fake never
   * removes it. Default: none, and such tables have locations that engines cannot reach.
   */
  readonly icebergFolder?: string | undefined
}

const {
  now: _now,
  newId: _newId,
  locationRoots: _roots,
  contentCache: _cache,
  ...ownChecks
} = catalogOptionChecks

/** Checked by what it is for. */
const later = () => undefined

const checks: OptionChecks<FakeOptions> = {
  ...ownChecks,
  seed: later,
  now: later,
  id: (given) =>
    typeof given === 'string' && /^[\w.-]{1,64}$/.test(given)
      ? undefined
      : '1 to 64 letters, digits, ".", "-" or "_"',
  faults: later,
  randomSeed: whole(Number.MIN_SAFE_INTEGER),
  keepCalls: whole(1),
  lanceFolder: text('the path of an empty folder'),
  icebergFolder: text('the path of an empty folder'),
}

/**
 * Opens a fake catalog: in memory, with exact semantics, deterministic, with a record of calls and fault injection.
 * Open and seed one, and `fork()` it for each test.
 *
 * ```ts
 * const fake = await fakeCatalog({ seed: { prod: { flights: [{ origin: 'SFO', delay: 75 }] } } })
 * fake.faults.add({ operation: 'countTableRows', fail: 'ServiceUnavailable', times: 1 })
 * ```
 *
 * Rejects with the error of the first invalid part of the seed, and its path.
 */
export async function fakeCatalog(options: FakeOptions = {}): Promise<FakeCatalog> {
  checkOptions('fakeCatalog', options, checks)
  const {
    seed,
    now,
    id = 'fake',
    faults = [],
    randomSeed = 1,
    keepCalls = 1_000,
    lanceFolder,
    icebergFolder,
    ...given
  } = options
  // Preloaded: waiting for the lazy import would change the order of operations in the first call.
  await import('../../engine/table/index.ts')
  const clock = new ManualClock(now)
  const open = async (name: string, folder: string | undefined) =>
    folder === undefined ? undefined : ClientFolder.open(name, folder)
  const lance = await open('lanceFolder', lanceFolder)
  const iceberg = await open('icebergFolder', icebergFolder)
  const rest = lance ? { managedVersioning: true, ...given } : given
  const common: Common = { rest, randomSeed, keepCalls, lance, iceberg }
  const sources = sourcesOf(common, clock, new CountedIds())
  const internals = emptyInternals(id, sources.options)
  if (typeof seed === 'function') await seed(localHandle(internals.core))
  else if (seed !== undefined) await applySeed(localHandle(internals.core), seed)
  return new Fake(common, sources, internals, faults).handle
}

/** The settings that all forks share. */
interface Common {
  readonly rest: CatalogOptions
  readonly randomSeed: number
  readonly keepCalls: number
  readonly lance: ClientFolder | undefined
  readonly iceberg: ClientFolder | undefined
}

/** Where a fake gets its times, ids and folders from. */
interface Sources {
  readonly clock: ManualClock
  readonly ids: CountedIds
  readonly folders: ClientFolders
  readonly options: InternalOptions
}

function sourcesOf({ rest, lance, iceberg }: Common, clock: ManualClock, ids: CountedIds): Sources {
  const folders = { declared: lance?.newSubfolder(), formats: iceberg?.newSubfolder() }
  return { clock, ids, folders, options: { ...rest, now: clock.now, newId: ids.next, folders } }
}

class Fake {
  readonly handle: FakeCatalog
  #common: Common
  readonly #internals: Internals
  readonly #options: InternalOptions
  readonly #clock: ManualClock
  readonly #ids: CountedIds
  readonly #calls: CallLog
  readonly #faults: FaultSet
  readonly #folders: ClientFolders
  readonly #acknowledged = new Acknowledged()
  readonly #inOrder = inOrder()
  readonly #open = new OpenCalls()
  /** Stops the transactions whose functions are under way. */
  readonly #closing = new AbortController()
  /** Removes a temporary folder for tables of other formats. */
  #removeFolder: (() => Promise<void>) | undefined

  constructor(
    common: Common,
    { clock, ids, folders, options }: Sources,
    internals: Internals,
    faults: readonly Fault[],
  ) {
    this.#common = common
    this.#folders = folders
    this.#internals = internals
    this.#options = options
    this.#clock = clock
    this.#ids = ids
    this.#calls = new CallLog(common.keepCalls)
    this.#faults = new FaultSet(common.randomSeed, () => this.#freeze())
    for (const fault of faults) this.#faults.add(fault)
    const first = this.#snapshot()
    const own = {
      clock,
      calls: this.#calls,
      faults: this.#faults,
      seed: (seed: Seed) => applySeed(localHandle(internals.core), seed),
      reset: () => this.#reset(first, faults),
      fork: () => this.#fork(),
      snapshot: () => this.#snapshot(),
      restore: (snapshot: FakeSnapshot) => this.#restore(snapshot),
      serve: async (options: ServedFakeOptions = {}) => {
        const { serveFake } = await import('./served.ts')
        return serveFake(this.handle, options)
      },
    }
    const perform = performOn(internals.core)
    this.handle = localHandle(internals.core, own, {
      run: (operation, request, options) => this.#run(perform, operation, request, options),
      transact: (work, options) => this.#transact(work, options),
    })
    foldersForFormats.set(this.handle, this.#folderForFormats())
    const close = this.handle.close
    // Releases the faults first: `close` would wait for the calls that they hold.
    this.handle.close = () => {
      // Aborts the transactions, since their functions may wait forever.
      this.#closing.abort(closedMeanwhile())
      return this.#faults
        .clear()
        .then(() => this.#acknowledged.settled())
        .then(close)
        .finally(() => this.#removeFolder?.())
    }
  }

  #folderForFormats(): FolderForFormats {
    return {
      isThere: () => this.#folders.formats !== undefined,
      use: async (folder, remove) => {
        this.#removeFolder = remove
        const iceberg = await ClientFolder.open('icebergFolder', folder)
        // Forks read what lies there, too.
        this.#common = { ...this.#common, iceberg }
        this.#internals.useForFormats(iceberg.newSubfolder())
      },
    }
  }

  #run(
    perform: FakeCall['perform'],
    operation: AnyOperation,
    request: unknown,
    options: OperationOptions,
    transaction?: number,
  ): Promise<unknown> {
    const clock = this.#clock
    const calls = this.#calls
    const open = this.#open.of(operation, request, options)
    const inside = transaction ?? (open?.isPart ? open.call : undefined)
    const call = calls.begin(operation.name, request, clock.now(), inside)
    const work =
      this.#faults.isEmpty && this.#acknowledged.isEmpty
        ? this.#inOrder(operation.name, () => perform(operation, request, options))
        : this.#runWithFaults(call, { operation, request, options, perform, open: open?.id })
    // Attached before the caller's handlers, so that the call is recorded when they run.
    work.then(
      (response) => {
        calls.succeed(call, response, clock.now())
        if (operation.name === 'beginTransaction') this.#open.begun(response, call.n)
      },
      (error) => calls.fail(call, error, clock.now()),
    )
    return work
  }

  #runWithFaults(call: ReturnType<CallLog['begin']>, made: FakeCall): Promise<unknown> {
    const { operation, request, open } = made
    const matched = { operation: operation.name as CallName, request: requestOf(request) }
    const taken = this.#faults.take(matched, operation, { isInside: call.transaction !== undefined, open })
    if (taken.length > 0) call.faults = taken.map(({ id }) => id)
    const faulted = {
      ...made,
      inOrder: this.#inOrder,
      internals: this.#internals,
      forkOptions: this.#options,
      clock: this.#clock,
      acknowledged: this.#acknowledged,
    }
    const run = () => runWithFaults(faulted, taken)
    if (operation.name === 'describeTransaction') this.#acknowledged.countDescribe(matched.request.id)
    return this.#acknowledged.isEnding ? this.#acknowledged.settled().then(run) : run()
  }

  /** Runs a transaction, and records it and the calls in it. */
  #transact<T>(work: Parameters<Transact>[0], options: TransactionOptions | undefined): Promise<T> {
    const clock = this.#clock
    const calls = this.#calls
    const call = calls.begin('transaction', options, clock.now())
    const touched = new Set<string>()
    const { signal = undefined } = options ?? {}
    const closing = this.#closing.signal
    const given = { ...options, signal: anySignal(signal, closing) }
    const result = transactWithin<T>(this.#internals.core, work, given, {
      run: (perform, operation, request, given) => this.#run(perform, operation, request, given, call.n),
      commit: (commit, signal) => {
        const taken = this.#faults.take({ operation: 'transaction', request: {} }, undefined, outside)
        for (const { id } of taken) touched.add(id)
        if (touched.size > 0) call.faults = [...touched]
        return withEffects(clock, taken, 'transaction', { signal }, commit)
      },
    })
    result.then(
      (answer) => calls.succeed(call, answer, clock.now()),
      (error) => calls.fail(call, error, clock.now()),
    )
    return result
  }

  #freeze(): Internals {
    const time = this.#clock.now()
    return forkInternals(this.#internals, { ...this.#options, now: () => time })
  }

  #fork(): FakeCatalog {
    const clock = new ManualClock(this.#clock.now())
    const sources = sourcesOf(this.#common, clock, new CountedIds(this.#ids.count))
    const internals = forkInternals(this.#internals, sources.options)
    const faults = this.#faults.all.map(({ fault }) => fault)
    return new Fake(this.#common, sources, internals, faults).handle
  }

  #snapshot(): FakeSnapshot {
    return { ...this.#internals.store.snapshot(), time: this.#clock.now(), ids: this.#ids.count }
  }

  #restore(snapshot: FakeSnapshot): void {
    this.#internals.store.restore(snapshot)
    this.#internals.forget()
    this.#clock.set(snapshot.time)
    this.#ids.count = snapshot.ids
    // Ids repeat from here, but the files that clients wrote under them remain.
    this.#folders.declared?.renew()
    this.#folders.formats?.renew()
  }

  #reset(first: FakeSnapshot, faults: readonly Fault[]): void {
    this.#acknowledged.clear()
    this.#open.clear()
    void this.#internals.core.sessions.close()
    this.#restore(first)
    this.#faults.reset(faults)
    this.#calls.reset()
  }
}

function performOn(context: OperationContext): FakeCall['perform'] {
  return (operation, request, options) => runOperation(context, operation, request, options)
}

function closedMeanwhile(): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    'The fake was closed while the function of the transaction was under way, so nothing of it was committed. Await the transaction before the test ends, or see what its function waits for.',
  )
}

const outside = { isInside: false }

function requestOf(request: unknown): Matched['request'] {
  return typeof request === 'object' && request !== null ? (request as Matched['request']) : {}
}
