import { upkeepTasks } from '../../src/catalog/handle/upkeep-tasks.ts'
import { operations } from '../../src/catalog/operations/index.ts'
import type { CatalogOptions } from '../../src/tabularium/index.ts'
import { coreOf } from '../../src/tabularium/local-handle.ts'
import { mapStrings } from './binding.ts'
import { finalReads, timeReads } from './final-reads.ts'
import { emptyWorld, linearize, type World } from './linearize.ts'
import { purgeOverdue } from './model/dropped.ts'
import { type Command, copy, type Outcome, predict } from './model/index.ts'
import { retain } from './model/retention.ts'
import { lookUp, type Rules, type State, walk } from './model/state.ts'
import type { Place } from './places.ts'
import { resolve } from './run-history.ts'
import { callWatched } from './run-transactions.ts'
import { type Seen, seenIn } from './script.ts'

/*
 * Histories in virtual time that combine transactions that stay open, idempotency keys, held tables, retention, reading by
 * time and upkeep. One step follows another, and after each the model knows all that can be seen. In the middle of a step
 * the power may be cut: then it was made as a whole, or not at all.
 */

/** One of the transactions that may be open at the same time. */
export type Slot = 0 | 1

export type PlainStep =
  /** A call, perhaps with a key, and perhaps within an open transaction. */
  | { readonly call: Command; readonly key?: string; readonly inside?: Slot }
  /** A call with a key again, or another request with its key. */
  | { readonly again: number; readonly other?: Command; readonly inside?: Slot }
  | { readonly commit: Slot }
  | { readonly vacuum: number }
  | 'upkeep'

export type Step =
  | PlainStep
  | { readonly begin: Slot }
  | { readonly undo: Slot }
  | { readonly seconds: number }
  | { readonly hours: number }
  | 'reopen'
  | 'check'
  /** A step during which the process dies. */
  | { readonly amid: PlainStep; readonly after: number }

interface OpenTransaction {
  readonly id: string
  readonly begun: number
  readonly calls: Command[]
  readonly outcomes: (Outcome | null)[]
  /** All worlds since it began: one of them explains what it saw. */
  readonly bases: World[][]
  /** The tables of which it named a version. */
  readonly pinned: Set<number>
  /** Whether others changed something since it began. */
  isContended: boolean
  hasExpired: boolean
}

const second = 1_000
const hour = 3_600 * second
/** Later than the times of files, so that none is spared for its age. */
const start = Date.UTC(2040, 0, 1)

export async function runCombined(place: Place, rules: Rules, history: readonly Step[]): Promise<void> {
  const run = new CombinedRun(place, rules)
  try {
    for (const step of history) await run.step(step)
    await run.end()
  } catch (error) {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error)
    throw new Error(
      `${why}\nafter this history on ${place.name}, with ${JSON.stringify(rules)}:\n${run.told()}`,
    )
  }
}

class CombinedRun {
  readonly #place: Place
  readonly #options: CatalogOptions
  readonly #opened: Promise<void>
  #now = start
  #process!: Awaited<ReturnType<Place['open']>>
  #worlds: World[]
  readonly #open = new Map<Slot, OpenTransaction>()
  /** What transactions pinned that ended without a word, until the catalog has recorded that. */
  #left: { readonly pinned: ReadonlySet<number>; readonly until: number; readonly isSure: boolean }[] = []
  readonly #seen: Seen[] = []
  /** The calls with keys. */
  readonly #keyed: Command[] = []
  /** The times of all steps. */
  readonly #times = [start]
  readonly #script: string[] = []
  /** The worlds in which what is under way was made, although nobody was told. */
  #ifMade: (() => World[]) | undefined
  /** The tables that a call alone may pin. */
  #mayPin: ReadonlySet<number> = new Set()
  /** Whether a process died that may have begun to remove content. */
  #isRemoving = false

  constructor(place: Place, rules: Rules) {
    this.#place = place
    this.#options = { ...rules, now: () => this.#now, transactionAge: 10_000 * hour }
    const folders = ['x', 'y'].map((name) => [`#R/${name}`, `${place.root}data/${name}`] as const)
    const world = emptyWorld(folders, rules)
    this.#worlds = [{ ...world, state: { ...world.state, now: start } }]
    this.#opened = this.#reopen()
  }

  told(): string {
    return this.#script.join('\n')
  }

  async step(step: Step): Promise<void> {
    await this.#opened
    this.#move(1)
    if (step === 'check') return this.#checkAll()
    if (typeof step === 'object' && 'seconds' in step) return this.#move(step.seconds * second)
    if (typeof step === 'object' && 'hours' in step) return this.#move(step.hours * hour)
    if (step === 'reopen') {
      for (const slot of [...this.#open.keys()]) this.#forget(slot)
      await this.#process.catalog.close()
      await this.#reopen()
    } else if (typeof step === 'object' && 'begin' in step) await this.#begin(step.begin)
    else if (typeof step === 'object' && 'undo' in step) await this.#undo(step.undo)
    else if (typeof step === 'object' && 'amid' in step) await this.#crash(step.amid, step.after)
    else return this.#plain(step)
    await this.#checkLists()
  }

  /** Compares all that can be seen, and that nothing stays of what was dropped. */
  async end(): Promise<void> {
    await this.#opened
    for (const slot of [...this.#open.keys()]) await this.#undo(slot)
    await this.#checkAll()
    const { catalog } = this.#process
    const { findings } = await catalog.verify()
    const problems = findings.filter(({ severity }) => severity === 'problem')
    if (problems.length > 0) this.#fail(`verify: ${JSON.stringify(problems)}`)
    this.#move(48 * hour)
    // The first one records what died, the second one removes what that kept.
    for (let n = 0; n < 2; n++) await this.#plain({ vacuum: 0 })
    await this.#checkAll()
    await this.#checkFiles()
    for (const [id, found] of walk(this.#worlds[0]!.state.root, []))
      if (found.kind === 'table') await this.#alone({ operation: 'dropTable', request: { id, purge: true } })
    const waiting = [...this.#worlds[0]!.state.deregistered.keys()].filter((at) => at.startsWith('#'))
    for (const location of waiting) {
      await this.#alone({ operation: 'registerTable', request: { id: ['last'], location } })
      await this.#alone({ operation: 'dropTable', request: { id: ['last'], purge: true } })
    }
    await this.#plain({ vacuum: 0 })
    await this.#checkFiles()
    for await (const { path } of this.#place.content.list('')) {
      if (/^(tables|data)\//.test(path)) this.#fail(`${path} is left when all tables are gone`)
    }
  }

  async #reopen(): Promise<void> {
    this.#process = await this.#place.open(this.#options)
  }

  #move(millis: number): void {
    this.#now += millis
    if (millis > 1) this.#note({ [`${millis} ms later`]: new Date(this.#now).toISOString() })
    this.#times.push(this.#now)
    this.#worlds = this.#worlds.map((world) => ({ ...world, state: { ...world.state, now: this.#now } }))
    if (millis >= hour) for (const one of this.#open.values()) one.hasExpired = true
  }

  #note(line: object): void {
    this.#script.push(JSON.stringify(line))
  }

  #fail(message: string): never {
    throw new Error(message)
  }

  /** Keeps the worlds that explain an outcome. */
  #keep(worlds: World[], what: string, isChange = true): void {
    if (worlds.length === 0) this.#fail(`The model does not explain this: ${what}`)
    this.#worlds = worlds
    if (isChange) for (const one of this.#open.values()) one.bases.push(worlds)
  }

  /** Others have changed something, which open transactions may have read. */
  #contend(except?: Slot): void {
    for (const [slot, one] of this.#open) if (slot !== except) one.isContended = true
  }

  async #begin(slot: Slot): Promise<void> {
    if (this.#open.has(slot)) return
    const { transaction_id } = await this.#process.catalog.beginTransaction({ idle_timeout_seconds: 3_600 })
    this.#note({ begin: slot, transaction_id })
    this.#open.set(slot, {
      id: transaction_id,
      begun: this.#now,
      calls: [],
      outcomes: [],
      bases: [this.#worlds],
      pinned: new Set(),
      isContended: false,
      hasExpired: false,
    })
  }

  /** What an open transaction pinned stays until its end is recorded. */
  #forget(slot: Slot, isRecorded = true): void {
    const { pinned, begun } = this.#open.get(slot)!
    this.#open.delete(slot)
    if (!isRecorded) this.#left.push({ pinned, until: begun + 60 * second, isSure: true })
  }

  async #undo(slot: Slot): Promise<void> {
    const open = this.#open.get(slot)
    if (open === undefined) return
    const { status } = await this.#process.catalog.rollbackTransaction({ id: [open.id] })
    this.#note({ undo: slot, status })
    this.#forget(slot)
    const isExplained = open.bases.some((worlds) => this.#replayed(worlds, open).length > 0)
    if (!isExplained) this.#fail(`No state explains what the transaction ${open.id} saw`)
  }

  #replayed(worlds: readonly World[], { calls, outcomes }: OpenTransaction): World[] {
    return linearize(worlds, [{ transaction: { calls, commits: true }, outcomes, start: 0, end: 0 }])
  }

  /** Runs a step, up to a cut of the power. The model follows once the step has ended. */
  async #plain(step: PlainStep): Promise<void> {
    if (step === 'upkeep') return this.#upkeep()
    if ('vacuum' in step) return this.#vacuum(step.vacuum)
    if ('commit' in step) return this.#commit(step.commit)
    const command = this.#commandOf(step)
    if (command === undefined) return
    const slot = step.inside
    if (slot === undefined || !this.#open.has(slot)) await this.#alone(command)
    else await this.#inside(slot, command)
  }

  /** The command of a step, with the strings of the catalog. */
  #commandOf(step: Exclude<PlainStep, string | { vacuum: number } | { commit: Slot }>): Command | undefined {
    let command: Command
    if ('call' in step) {
      command = { ...step.call, ...(step.key && { key: step.key }) }
    } else {
      const first = this.#keyed[step.again % Math.max(1, this.#keyed.length)]
      if (first === undefined) return undefined
      command = step.other ? { ...step.other, key: first.key! } : first
    }
    const begun = step.inside === undefined ? undefined : this.#open.get(step.inside)?.begun
    // Within a transaction, its own versions have no time yet.
    const times = this.#times.filter((time) => begun === undefined || time < begun)
    const real = mapStrings(this.#worlds[0]!.binding.toReal(resolve(command, this.#seen)), (text) => {
      const [, n] = /^#A\?(\d+)$/.exec(text) ?? []
      if (n === undefined) return text
      const time = times.at(-1 - Number(n)) ?? (begun === undefined ? this.#now + second : start - 1)
      return new Date(time).toISOString()
    })
    const timely = { ...real, now: this.#now }
    if (timely.key) this.#keyed.push(timely)
    return timely
  }

  async #alone(command: Command): Promise<void> {
    const { catalog } = this.#process
    const options = command.key ? { idempotencyKey: command.key } : {}
    const real = { ...command, request: this.#worlds[0]!.binding.toReal(command.request), now: this.#now }
    this.#mayPin = new Set(pinnedBy(real, this.#worlds[0]!.state))
    this.#ifMade = () =>
      this.#worlds.map((world) => ({
        ...world,
        state: predict(world.state, world.binding.toSymbols(real)).state,
      }))
    const { outcome } = await this.#cutting(callWatched(catalog, real, options))
    this.#note({ ...real, outcome })
    if (outcome === null || this.#isBusy(command, outcome)) return
    this.#see(outcome)
    const isChange = operations[command.operation].definition.changes && 'answer' in outcome
    this.#keep(
      linearize(this.#worlds, [{ command: real, outcome, start: 0, end: 0 }]),
      `${JSON.stringify(real)} came to ${JSON.stringify(outcome)}, and not to ${this.#predicted(real)}`,
      isChange,
    )
    if (isChange) this.#contend()
  }

  /** Whether a location was refused where a process that died has begun to remove content. */
  #isBusy({ operation }: Command, outcome: Outcome): boolean {
    const isRefused = 'error' in outcome && outcome.error === 'ConcurrentModification'
    return this.#isRemoving && isRefused && /^(declare|register|batchCommit)/.test(operation)
  }

  #predicted(command: Command): string {
    const { state, binding } = this.#worlds[0]!
    return JSON.stringify(binding.toReal(predict(state, binding.toSymbols(command)).outcome))
  }

  #see(outcome: Outcome): void {
    if (!('answer' in outcome)) return
    for (const one of seenIn(outcome.answer, ''))
      if (this.#seen.every(({ real }) => real !== one.real)) this.#seen.push(one)
  }

  async #inside(slot: Slot, command: Command): Promise<void> {
    const open = this.#open.get(slot)!
    this.#pin(open, command)
    const options = { transaction: open.id, ...(command.key && { idempotencyKey: command.key }) }
    const { outcome, error } = await this.#cutting(callWatched(this.#process.catalog, command, options))
    this.#note({ inside: slot, ...command, outcome })
    if (open.hasExpired) {
      if (outcome && 'error' in outcome && outcome.error === 'TransactionNotFound') return this.#forget(slot)
      // What no state would allow is refused first.
      if (outcome && 'error' in outcome && outcome.error === 'InvalidInput') return
      this.#fail(`The transaction ${open.id} has expired, and still took a call`)
    }
    const isLost = (error as { transaction_id?: string } | undefined)?.transaction_id === open.id
    if (isLost && outcome && 'error' in outcome && outcome.error === 'ConcurrentModification') {
      if (!open.isContended)
        this.#fail(`The transaction ${open.id} was lost to nobody: ${(error as Error).message}`)
      return this.#forget(slot)
    }
    open.calls.push(command)
    open.outcomes.push(outcome)
  }

  /** A call that names a version keeps all versions of its table. */
  #pin(open: OpenTransaction, command: Command): void {
    const [seen = this.#worlds[0]!] = this.#replayed(this.#worlds, open)
    for (const key of pinnedBy(command, seen.state)) open.pinned.add(key)
  }

  async #commit(slot: Slot): Promise<void> {
    const open = this.#open.get(slot)
    if (open === undefined) return
    if (!open.hasExpired) this.#ifMade = () => this.#replayed(this.#worlds, open)
    const committed = await this.#cutting(
      this.#process.catalog.commitTransaction({ id: [open.id] }).then(
        ({ status }) => status,
        (error: { code: string }) => error.code,
      ),
    )
    this.#note({ commit: slot, committed })
    this.#forget(slot)
    if (committed === 'Succeeded') {
      if (open.hasExpired) this.#fail(`The transaction ${open.id} had expired, and is committed`)
      // One that changed nothing has seen the catalog as it was at its last call.
      const isReader = open.bases.some((worlds) =>
        this.#replayed(worlds, open).some(({ state }) => isSameChange(state, worlds[0]!.state)),
      )
      const after = this.#replayed(this.#worlds, open)
      if (after.length > 0 || !isReader)
        this.#keep(after, `what the transaction ${open.id} saw at its commit`)
      for (const outcome of open.outcomes) if (outcome) this.#see(outcome)
      this.#contend()
      return
    }
    const isRight = open.hasExpired
      ? committed === 'TransactionNotFound'
      : committed === 'ConcurrentModification' && open.isContended
    if (!isRight) this.#fail(`The commit of ${open.id} came to ${committed}`)
  }

  /**
   * The tables of which transactions keep versions. A transaction may have pinned some when its process died, or not; and
   * any reader of transactions records that the lease of another one has ended.
   */
  #pinned(): Set<number>[] {
    const open = [...this.#open.values()].map(({ pinned, hasExpired }) => ({ pinned, isSure: !hasExpired }))
    const left = this.#left.map((one) => ({ ...one, isSure: one.isSure && one.until > this.#now }))
    return [...open, ...left].reduce<Set<number>[]>(
      (sets, { pinned, isSure }) => [
        ...sets.map((set) => new Set([...set, ...pinned])),
        ...(isSure || pinned.size === 0 ? [] : sets),
      ],
      [new Set()],
    )
  }

  /** Worlds without the versions that rules let go, and held tables whose period is over. */
  #swept(grace: number): { readonly world: World; readonly count: number }[] {
    return this.#pinned().flatMap((pinned) =>
      this.#worlds.map((world) => {
        const state = copy(world.state)
        const count = retain(state, grace, pinned)
        purgeOverdue(state)
        return { world: { ...world, state }, count }
      }),
    )
  }

  #sweep(swept: readonly { readonly world: World; readonly count: number }[], what: string): void {
    const held = this.#worlds[0]!.state.held.length
    const isChange = swept.some(({ count, world }) => count > 0 || world.state.held.length !== held)
    this.#keep(
      swept.map(({ world }) => world),
      what,
      isChange,
    )
    if (isChange) this.#contend()
    this.#isRemoving = false
    // What has lapsed is recorded by now.
    this.#left = this.#left.filter(({ until }) => until > this.#now)
    for (const one of this.#open.values()) if (one.hasExpired) one.pinned.clear()
  }

  async #vacuum(graceMillis: number, isRest = false): Promise<void> {
    const { catalog } = this.#process
    const dry = await this.#cutting(catalog.vacuum({ graceMillis, dryRun: true }))
    const { versions = 0, removed } = await this.#cutting(catalog.vacuum({ graceMillis }))
    this.#note({ vacuum: graceMillis, dry: dry.versions, versions, removed })
    // It may have removed what a transaction wrote for a table to be registered again.
    for (const one of this.#open.values())
      if (one.calls.some(({ operation }) => /^deregister|^register|^batchCommit/.test(operation)))
        one.isContended = true
    const swept = this.#swept(graceMillis)
    const counts = swept.map(({ count }) => count)
    const what = `a vacuum removed ${versions} versions, announced ${dry.versions ?? 0}, and not ${counts}`
    this.#sweep(
      swept.filter(({ count }) => isRest || (count === versions && count === (dry.versions ?? 0))),
      what,
    )
  }

  async #upkeep(): Promise<void> {
    const { local } = this.#process
    const { signal } = new AbortController()
    const work = async () => {
      for (const task of upkeepTasks(coreOf(local)))
        while (await task.run({ signal, throttled: (step) => step() }));
    }
    await this.#cutting(work())
    this.#note({ upkeep: true })
    this.#sweep(this.#swept(hour), 'an upkeep')
  }

  /** The result of work, unless the power is cut before. */
  async #cutting<T>(work: Promise<T>): Promise<T> {
    const cut = this.#process.power.cut.then(() => {
      throw new PowerCut()
    })
    return Promise.race([work, cut])
  }

  /** The process dies in the middle of a step, or right after it. Another one opens the catalog. */
  async #crash(step: PlainStep, after: number): Promise<void> {
    this.#beginAnew()
    const slot = typeof step === 'object' && 'inside' in step ? step.inside : undefined
    const before = slot === undefined ? undefined : this.#open.get(slot)
    const pinned = new Set(before?.pinned)
    this.#process.power.cutAfter(after)
    let isCut = false
    try {
      await this.#plain(step)
    } catch (error) {
      if (!(error instanceof PowerCut)) throw error
      isCut = true
    }
    this.#process.power.cutNow()
    this.#note({ crash: step, isCut })
    if (before && isCut) {
      const fresh = [...before.pinned].filter((key) => !pinned.has(key))
      for (const key of fresh) before.pinned.delete(key)
      this.#left.push({ pinned: new Set(fresh), until: before.begun + 60 * second, isSure: false })
    }
    for (const slot of [...this.#open.keys()]) this.#forget(slot, false)
    await this.#reopen()
    this.#isRemoving ||= isCut
    if (isCut) this.#left.push({ pinned: this.#mayPin, until: this.#now + 60 * second, isSure: false })
    if (!isCut) return
    // It was made, or not. What is seen from now on tells which.
    if (this.#ifMade) this.#worlds = [...this.#worlds, ...this.#ifMade()]
    // What an upkeep or a vacuum left is for the next one.
    if (step === 'upkeep') await this.#upkeep()
    else if ('vacuum' in step) await this.#vacuum(step.vacuum, true)
  }

  #beginAnew(): void {
    this.#ifMade = undefined
    this.#mayPin = new Set()
  }

  /** Compares listings. */
  async #checkLists(): Promise<void> {
    await this.#alone({ operation: 'listAllTables', request: {} })
    await this.#alone({ operation: 'listDroppedTables', request: { id: [] } })
  }

  /** Compares all that can be seen. */
  async #checkAll(): Promise<void> {
    await this.#checkLists()
    for (let count = 0; count !== this.#worlds.length; ) {
      count = this.#worlds.length
      const { state } = this.#worlds[0]!
      for (const read of [...finalReads(state), ...timeReads(state)]) await this.#alone(read)
    }
  }

  /** Compares the folders that have content with the tables that there are. */
  async #checkFiles(): Promise<void> {
    const { state, binding } = this.#worlds[0]!
    const tables = Array.from(walk(state.root, []), ([, found]) =>
      found.kind === 'table' ? found.location : '',
    )
    const known = [...tables, ...state.deregistered.keys(), ...[...state.shares.values()].flat()]
    const folders = known.map((at) => `${binding.toReal(at)}/`)
    for await (const { path } of this.#place.content.list('')) {
      if (!/^(tables|data)\//.test(path)) continue
      const isKnown = folders.some((folder) => `${this.#place.root}${path}`.startsWith(folder))
      if (!isKnown) this.#fail(`${path} belongs to no table`)
    }
  }
}

/** The tables of which a call names a version. A clone that copies files keeps them, too. */
function pinnedBy({ operation, request }: Command, state: State): number[] {
  const asked = request as Record<string, unknown>
  const isChange = operations[operation].definition.changes
  if (isChange && !/Tag$|Branch$|^restore|^clone/.test(operation)) return []
  const names = (fields: readonly string[]) => fields.some((field) => asked[field] != null)
  const ids = [
    ...(names(['version', 'at', 'from_version', 'from_at']) ? [asked.id] : []),
    ...(names(['source_version', 'source_at']) || asked.is_shallow === false ? [asked.source] : []),
  ]
  return ids.flatMap((id) => {
    const found = Array.isArray(id) ? lookUp(state, id) : undefined
    return found?.kind === 'table' ? [found.key] : []
  })
}

class PowerCut extends Error {}

/** Whether nothing was changed between two states. */
function isSameChange(one: State, other: State): boolean {
  return one.transactions.size === other.transactions.size && one.answers.size === other.answers.size
}
