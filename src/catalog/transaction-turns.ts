import { askForTurns, askMillis, isContended, rememberContended, turnAt } from '../rows/contention.ts'
import { turnMillis } from '../scheduling/run-turn.ts'
import { clearTimeout, performance, setTimeout, sleep, type Timer } from '../time.ts'
import { inProcessTurn } from '../transactions/process-turn.ts'
import type { Core } from './core.ts'
import { pause } from './transaction-function.ts'

/*
 * A run of a function is lost when others commit to what it read. Short changes would win each time against a function
 * that takes long. So a function that lost twice takes turns at the branches where it lost, as changes of rows do. Only
 * time depends on a turn: the commit decides, with or without one.
 */

/** The races that a function loses before it takes turns. */
const leastLosses = 2

/** The most branches at which a transaction takes turns among processes at once. */
const mostNames = 16

/** How long a transaction waits for all of its turns, in milliseconds. It goes on without them then. */
const waitMillis = 10_000

/** When so many turns of a function ended before its run did, it takes no more: they keep others waiting for nothing. */
const mostOutlasted = 2

/** The turns of one transaction, which it keeps from a run that is lost to the next one. */
export class TransactionTurns {
  readonly #core: Core
  readonly #signal: AbortSignal
  /** The branches at which it lost, by the id of the table and the name of the branch. */
  readonly #lostAt = new Set<string>()
  #losses = 0
  #outlasted = 0
  #held: Turn | undefined
  #runBegan = 0
  /** The turn in which the run began. */
  #turnOfRun: Turn | undefined
  /** Whether the run was lost to somebody who took no turn. */
  #isOvertaken = false

  constructor(core: Core, signal: AbortSignal) {
    this.#core = core
    this.#signal = signal
  }

  /** Notes that a race was lost at the first of these branches, and that the next one may be lost at the others. */
  lose(branches: readonly string[]): void {
    this.#losses++
    this.#isOvertaken =
      this.#lasting !== undefined &&
      this.#turnOfRun === this.#lasting &&
      this.#lasting.has(branches.slice(0, 1))
    for (const branch of branches) {
      rememberContended(this.#core, branch)
      if (this.#lostAt.size < mostNames) this.#lostAt.add(branch)
    }
  }

  /** Takes turns for a run that begins now, where those before lost too often. */
  async beforeRun(): Promise<void> {
    const lastRun = performance.now() - this.#runBegan
    // Others ask now and then whether there are turns. Until then, one run after the other would be lost to them.
    if (this.#isOvertaken) await pause(askMillis, this.#signal)
    this.#isOvertaken = false
    const held = this.#lasting
    const wanted = new Set([...(held?.branches ?? []), ...this.#lostAt])
    const isTooSlow = this.#outlasted >= mostOutlasted
    if (isTooSlow) this.end()
    // The turn must last for the whole of a run, or the run is lost at its end.
    const isEnough = held?.has(wanted) === true && held.left > lastRun
    if (!isTooSlow && !isEnough && (held !== undefined || this.#losses >= leastLosses))
      await this.#take(wanted)
    this.#turnOfRun = this.#lasting
    this.#runBegan = performance.now()
  }

  /** Commits to branches, in turn where others take turns there. A turn that was taken for it lasts until the end. */
  async atCommit<T>(branches: readonly string[], commit: () => Promise<T>): Promise<T> {
    const contended = branches.filter((branch) => this.#respects(branch))
    const held = this.#lasting
    if (held ? !held.has(contended) : contended.length > 0) {
      const began = performance.now()
      await this.#take(new Set([...branches, ...(held?.branches ?? [])]))
      // To wait is no part of the run.
      this.#runBegan += performance.now() - began
    }
    return this.#lasting ? commit() : inTurns(this.#core, branches, commit)
  }

  /** Ends the turns that it has. */
  end(): void {
    this.#held?.end()
    this.#held = undefined
  }

  get #lasting(): Turn | undefined {
    return this.#held?.isLasting ? this.#held : undefined
  }

  /** Whether others take turns at a branch. Asks now and then. */
  #respects(branch: string): boolean {
    if (isContended(this.#core, branch)) return true
    if (this.#core.store.inTurn) askForTurns(this.#core, branch)
    return false
  }

  async #take(branches: ReadonlySet<string>): Promise<void> {
    this.end()
    if (branches.size === 0) return
    const turn = new Turn(branches, () => this.#outlasted++)
    this.#held = turn
    const isAmongProcesses = (branch: string) => this.#lostAt.has(branch) || isContended(this.#core, branch)
    await takeTurn(this.#core, turn, isAmongProcesses, this.#signal)
  }
}

/** A turn at several branches, from the moment at which all of them are free. */
class Turn {
  readonly branches: ReadonlySet<string>
  readonly ended: Promise<void>
  readonly #onOutlasted: () => void
  #end!: () => void
  #until: number | undefined
  #timer: Timer | undefined
  isOver = false

  constructor(branches: ReadonlySet<string>, onOutlasted: () => void) {
    this.branches = branches
    this.#onOutlasted = onOutlasted
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  get isLasting(): boolean {
    return this.#until !== undefined && !this.isOver
  }

  /** How much longer it lasts, in milliseconds. */
  get left(): number {
    return this.isLasting ? this.#until! - performance.now() : 0
  }

  has(branches: Iterable<string>): boolean {
    return Array.from(branches).every((branch) => this.branches.has(branch))
  }

  begin(): void {
    this.#until = performance.now() + turnMillis
    // It keeps the process, whose function may wait for what only the end of the turn gives back.
    this.#timer = setTimeout(() => {
      this.#onOutlasted()
      this.end()
    }, turnMillis)
  }

  end(): void {
    this.isOver = true
    clearTimeout(this.#timer)
    this.#end()
  }
}

/** Waits until a turn has begun, or for so long that the work goes on without it. */
async function takeTurn(
  core: Core,
  turn: Turn,
  isAmongProcesses: (branch: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const branches = [...turn.branches].sort()
  const { store } = core
  const waited = new AbortController()
  const begun = new Promise<void>((resolve) => {
    const last = async () => {
      if (turn.isOver) return
      turn.begin()
      resolve()
      await turn.ended
    }
    const among = () => {
      const names = branches.filter(isAmongProcesses).slice(0, mostNames).map(turnAt)
      if (turn.isOver || store.inTurn === undefined || names.length === 0) return last()
      return inProcessTurn(core, names, last)
    }
    // Without a turn, the transaction finds out by itself what is wrong with the store.
    inTurns(core, branches, among, turn).then(resolve, resolve)
  })
  const late = sleep(waitMillis, { signal: AbortSignal.any([signal, waited.signal]) }).catch(() => {})
  await Promise.race([begun, late])
  waited.abort()
  if (!turn.isLasting) turn.end()
  signal.throwIfAborted()
}

/**
 * Runs work while no other work of this process has the turns of these branches. They are taken in order, so that nobody
 * waits for each other, until `unless` is over.
 */
function inTurns<T>(
  core: Core,
  [branch, ...others]: readonly string[],
  work: () => Promise<T>,
  unless?: { readonly isOver: boolean },
): Promise<T> {
  if (branch === undefined || unless?.isOver) return work()
  return core.inTurn(branch, () => inTurns(core, others, work, unless))
}
