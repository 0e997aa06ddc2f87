import { tableFromIPC } from '@uwdata/flechette'
import { CatalogError, type LocalCatalog, type Transaction } from '../../src/tabularium/index.ts'
import { Draw } from '../support/draw.ts'
import type { Fleet, Server } from './fleet.ts'
import type { History } from './history.ts'
import { type Change, type Ledger, type ReadRow, Violation } from './ledger.ts'
import type { ClientScript, Step } from './script.ts'

/** A table that only one client uses. */
export interface OwnTable {
  /** Its name in the ledger. */
  readonly label: string
  name: string
  /** Its identifier; undefined after a change with an unknown outcome. */
  state: 'there' | 'out' | 'gone' | 'unknown'
  location: string
}

/** The context of all steps of a client. */
export interface StepContext {
  readonly catalog: LocalCatalog
  readonly client: Client
  readonly draw: Draw
}

export const ledgerTables = ['l0', 'l1'] as const

/** A client, which runs its steps in sequence, at a server that may crash meanwhile. */
export class Client {
  readonly number: number
  readonly server: Server
  readonly fleet: Fleet
  readonly ledger: Ledger
  readonly history: History
  readonly tables: OwnTable[] = []
  /** Keys of rows in the ledger tables that this client may change. */
  readonly keys = new Map<string, { readonly table: string }>()
  readonly #steps: readonly Step[]
  readonly #perform: (at: StepContext, kind: Step['kind']) => Promise<void>
  #next = 0
  #names = 0
  /** The running change. If the process ends, its outcome is unknown. */
  #changes: readonly Change[] = []
  #onUnknown: () => void = () => {}
  isDone = false

  constructor(
    number: number,
    { server, steps }: ClientScript,
    fleet: Fleet,
    common: { readonly ledger: Ledger; readonly history: History },
    perform: (at: StepContext, kind: Step['kind']) => Promise<void>,
  ) {
    this.number = number
    this.server = fleet.servers[server % fleet.servers.length]!
    this.fleet = fleet
    this.ledger = common.ledger
    this.history = common.history
    this.#steps = steps
    this.#perform = perform
  }

  get now(): number {
    return this.fleet.scheduler.now
  }

  /** Continues in the current process of its server. */
  begin(): void {
    for (const change of this.#changes) change.outcome = 'unknown'
    if (this.#changes.length > 0) this.#onUnknown()
    this.#changes = []
    this.fleet.inside(this.server, (catalog) => this.#run(catalog))
  }

  newName(prefix: string): string {
    return `${prefix}${this.number}x${++this.#names}`
  }

  /**
   * Makes changes, and records their outcome. Resolves to the response, or to undefined after a refusal. Calls
   * `onUnknown` if the outcome is unknown.
   */
  async change<T>(
    changes: readonly Change[],
    call: () => Promise<T>,
    onUnknown: () => void = () => {},
  ): Promise<T | undefined> {
    this.#changes = changes
    this.#onUnknown = onUnknown
    const start = this.now
    const end = (outcome: Change['outcome']) => {
      for (const change of changes) Object.assign(change, { outcome, end: this.now })
      this.#changes = []
    }
    try {
      const answer = await call()
      end('done')
      const { transaction_id: id } = (answer ?? {}) as { transaction_id?: string }
      if (id !== undefined) this.history.committed(id, start, this.now)
      return answer
    } catch (error) {
      const isUnknown = codeOf(error) === 'ServiceUnavailable'
      end(isUnknown ? 'unknown' : 'refused')
      if (isUnknown) onUnknown()
      return undefined
    }
  }

  /** Makes a call that may be refused. */
  async ask<T>(call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call()
    } catch (error) {
      codeOf(error)
      return undefined
    }
  }

  /** In a run with pauses, a machine may pause with the next commit. */
  mayStall(draw: Draw): boolean {
    const { network, hasStalls } = this.fleet
    const stalls = hasStalls && draw.chance(0.4)
    if (stalls) network.stalls.set(this.server.machine, draw.next() * 200_000)
    return stalls
  }

  /** Reads a table, and checks its rows against the ledger. `label` is its name there. */
  async read(catalog: LocalCatalog, name: string, label: string): Promise<void> {
    const start = this.now
    const rows = await this.ask(() => rowsOf(catalog, name))
    if (rows !== undefined) this.ledger.check(label, rows, start, this.now)
  }

  async #run(catalog: LocalCatalog): Promise<void> {
    for (;;) {
      const step = this.#steps[this.#next]
      if (step === undefined) break
      this.#next++
      await this.fleet.scheduler.sleep(this.server.actor, step.delay)
      this.fleet.scheduler.note(this.server.actor, `client ${this.number} begins ${step.kind}`)
      await this.#perform({ catalog, client: this, draw: new Draw(step.choice * 2 ** 32) }, step.kind)
      this.fleet.scheduler.note(this.server.actor, `client ${this.number} ends ${step.kind}`)
    }
    this.isDone = true
  }
}

/** The rows of a table. */
export async function rowsOf(catalog: LocalCatalog | Transaction, name: string): Promise<ReadRow[]> {
  const { data } = await catalog.queryTable({ id: [name] })
  return tableFromIPC(data)
    .toArray()
    .map(({ k, v }) => ({ k: String(k), v: Number(v) }))
}

/** The code of a refusal. Any other error is a violation. */
export function codeOf(error: unknown): string {
  if (error instanceof Violation) throw error
  if (!(error instanceof CatalogError) || error.code === 'Internal') throw error
  return error.code
}
