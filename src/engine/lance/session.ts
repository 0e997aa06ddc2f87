import { CatalogError } from '../../base/errors.ts'
import { unrefTimer } from '../../base/scheduling/unref-timer.ts'
import { clearTimeout, setTimeout, type Timer } from '../../base/time.ts'
import type { WorkOptions } from '../table/table-engine.ts'
import type { Bridge } from './bridge.ts'
import { applyChange, type PreparedChange, type RowsChanged } from './change.ts'
import type { DatasetToChange, DatasetToOpen, DatasetToRead } from './datasets.ts'
import { cannotOpen } from './errors.ts'
import { type HeadOfBranch, type KeptHandle, KeptHandles } from './kept-handles.ts'
import { type Connection, createNative, type LancePackage, type NativeTable, nativeTable } from './native.ts'
import type { LanceRuntime } from './runtime.ts'

/** Most versions that stay open after they were read. */
const keptOpen = 32
/** How often a version is opened whose manifest changes meanwhile. */
const attempts = 20
/** How long canceled work may go on in another process, in milliseconds, before that is ended. */
const abandonedMillis = 30_000

/** A handle, and the folders outside of its dataset in which it has files. */
interface Guarded {
  readonly table: NativeTable
  readonly places: readonly string[]
}

interface Opened {
  readonly name: string
  readonly handle: Promise<Guarded>
  users: number
}

/** What one runtime of Lance has open: the connection to the catalog, and handles of tables. */
export class LanceSession {
  readonly runtime: LanceRuntime
  readonly #bridge: Bridge
  readonly #cacheBytes: number
  #connection: Promise<Connection> | undefined
  /** By the keys of versions, the one that was used last at the end. */
  readonly #opened = new Map<string, Opened>()
  /** Handles of the latest versions of branches, for the next change of each. */
  readonly #changing = new KeptHandles(({ name, table }) => {
    table.close()
    this.#bridge.remove(name)
  })

  constructor(runtime: LanceRuntime, bridge: Bridge, cacheBytes: number) {
    this.runtime = runtime
    this.#bridge = bridge
    this.#cacheBytes = cacheBytes
  }

  /** Reads a version. */
  async read<T>(
    dataset: DatasetToRead,
    { signal }: WorkOptions,
    read: (table: NativeTable, lance: LancePackage) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted()
    const opened = this.#open(dataset)
    opened.users++
    try {
      const work = opened.handle.then(async ({ table, places }) => {
        await dataset.guard?.allow(places)
        return read(table, await this.runtime.load())
      })
      return await this.#abortable(signal, work)
    } finally {
      opened.users--
      this.#evict()
    }
  }

  /** Changes the latest version of a branch. `make` gets the schema as Lance answers it. */
  async change(
    dataset: DatasetToChange,
    make: (schema: Uint8Array) => Promise<PreparedChange>,
    { signal }: WorkOptions,
  ): Promise<RowsChanged> {
    const kept = await this.#changing.take(dataset.head)
    const name = kept?.name ?? this.#bridge.add(dataset)
    if (kept) this.#bridge.set(name, dataset)
    let table = kept?.table
    let isKept = false
    try {
      if (table === undefined) {
        const opened = await this.#openTable(name, dataset).catch((error) => {
          throw cannotOpen(error, dataset.shown)
        })
        table = opened.table
      }
      const schema = kept?.schema ?? (await table.schema())
      const change = await make(schema)
      signal?.throwIfAborted()
      const changed = await applyChange(await this.runtime.load(), table, change)
      const head = isOfRows(change) ? dataset.headAfter?.() : undefined
      // Other callers are to be asked about files elsewhere.
      const isWhole = (await dataset.guard?.opened())?.length === 0
      isKept = head !== undefined && isWhole
      if (isKept)
        this.#changing.keep(head!, keptAfter(change, { name, table, schema }, kept && dataset.head, head!))
      return changed
    } finally {
      if (!isKept) {
        table?.close()
        this.#bridge.remove(name)
      }
    }
  }

  /** Makes a dataset with rows. */
  async create(dataset: DatasetToOpen, rows: Uint8Array): Promise<void> {
    const name = this.#bridge.add(dataset)
    try {
      this.#connection ??= this.#connect()
      const table = await createNative(await this.#connection, name, rows)
      table.close()
    } finally {
      this.#bridge.remove(name)
    }
  }

  /** Ends the runtime, and closes all handles. */
  async close(): Promise<void> {
    const opened = [...this.#opened.values()]
    const connection = this.#connection
    this.#opened.clear()
    this.#connection = undefined
    // First, as a process takes with it what it has open, and what it is still opening.
    await this.runtime.close()
    await this.#changing.clear()
    for (const one of opened) await this.#release(one)
    await connection?.then((found) => found.close()).catch(() => {})
  }

  /** The handle of a version. Each is opened once, and stays open for a while, since opening reads its manifest. */
  #open(dataset: DatasetToRead): Opened {
    const { key } = dataset
    const found = this.#opened.get(key)
    if (found) {
      this.#opened.delete(key)
      this.#opened.set(key, found)
      return found
    }
    const name = this.#bridge.add(dataset)
    const handle = this.#openTable(name, dataset).catch((error) => {
      throw cannotOpen(error, dataset.shown)
    })
    const opened: Opened = { name, handle, users: 0 }
    this.#opened.set(key, opened)
    handle.catch(() => {
      if (this.#opened.get(key) === opened) this.#opened.delete(key)
      this.#bridge.remove(name)
    })
    return opened
  }

  async #openTable(
    name: string,
    { shown, branch, version, guard }: DatasetToOpen & { readonly version?: number },
  ): Promise<Guarded> {
    const options = { ...(version !== undefined && { version }), ...(branch !== '' && { branch }) }
    for (let attempt = 1; attempt <= attempts; attempt++) {
      this.#connection ??= this.#connect()
      const opening = this.#connection.then(async (connection) =>
        nativeTable(await connection.openTable(name, [], options)),
      )
      await opening.catch(() => {})
      try {
        // What it refused says more than what Lance makes of that.
        const places = guard ? await guard.opened() : []
        // A manifest that was just published may only have lost its first name.
        if (places) return { table: await opening, places }
      } catch (error) {
        await opening.then((table) => table.close()).catch(() => {})
        throw error
      }
      await opening.then((table) => table.close()).catch(() => {})
    }
    throw new CatalogError(
      'ConcurrentModification',
      `The manifest of ${shown} is written again and again while Lance opens it. Look at who writes there, and try again.`,
    )
  }

  async #connect(): Promise<Connection> {
    try {
      const { connectNamespace, Session } = await this.runtime.load()
      const bytes = this.#cacheBytes
      const session = new Session(BigInt(bytes), BigInt(Math.ceil(bytes / 4)))
      const uri = await this.#bridge.listen()
      return await connectNamespace('rest', { uri, headers: this.#bridge.headers }, { session })
    } catch (error) {
      // The package may be installed while the catalog is open.
      this.#connection = undefined
      throw error
    }
  }

  #evict(): void {
    for (const [key, opened] of this.#opened) {
      if (this.#opened.size <= keptOpen) return
      if (opened.users > 0) continue
      this.#opened.delete(key)
      void this.#release(opened)
    }
  }

  async #release({ name, handle }: Opened): Promise<void> {
    this.#bridge.remove(name)
    await handle.then(({ table }) => table.close()).catch(() => {})
  }

  /**
   * The work, or the reason of the signal as soon as that is aborted: Lance itself cannot be stopped. A process of its
   * own is, if the work goes on there.
   */
  #abortable<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
    if (signal === undefined) return work
    return new Promise((resolve, reject) => {
      let late: Timer | undefined
      const stop = () => {
        reject(signal.reason)
        late = unrefTimer(setTimeout(() => this.runtime.abandon(), abandonedMillis))
      }
      signal.addEventListener('abort', stop, { once: true })
      work.then(resolve, reject).finally(() => {
        signal.removeEventListener('abort', stop)
        clearTimeout(late)
      })
    })
  }
}

/** The handle after a change. Its schema is still that of the version before, unless others made one in between. */
function keptAfter(
  change: PreparedChange,
  { name, table, schema }: Pick<KeptHandle, 'name' | 'table'> & { readonly schema: Uint8Array },
  before: HeadOfBranch | undefined,
  { version }: HeadOfBranch,
): KeptHandle {
  const isNext = before !== undefined && version - before.version <= 1
  const isSame = isNext && !(change.kind === 'insert' && change.overwrite)
  return { name, table, version: table.version(), schema: isSame ? schema : undefined }
}

/** Whether a change leaves its handle at the version that it made. */
function isOfRows({ kind }: PreparedChange): boolean {
  return kind === 'insert' || kind === 'delete' || kind === 'update' || kind === 'merge'
}
