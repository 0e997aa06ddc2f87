import { turnMillis } from '../../base/scheduling/run-turn.ts'
import { anySignal } from '../../base/scheduling/signals.ts'
import type { LostRaces } from '../../base/store/records.ts'
import { clearTimeout, performance, setTimeout, sleep, type Timer } from '../../base/time.ts'
import {
  askForTurns,
  askMillis,
  inProcessTurn,
  isContended,
  rememberContended,
  turnAt,
} from '../rows/contention.ts'
import type { RowsContext } from '../rows/context.ts'
import { pause } from './transaction-function.ts'
import type { TurnShare } from './turn-shares.ts'

/*
 * A run of a function is lost when others commit to what it read. Short changes would win each time against a function
 * that takes long. So a function that lost twice takes turns at the branches where it lost, as changes of rows do.
 * Turns affect timing only: the commit detects conflicts with or without one.
 */

/** The races that a function loses before it takes turns. */
const minLosses = 2

/** The most branches at which a transaction takes turns among processes at once. */
const maxNames = 16

/** How long a transaction waits for all of its turns, in milliseconds. It goes on without them then. */
const waitMillis = 10_000

/** After this many turns that ended before their run, a function takes no more: they would delay others for nothing. */
const maxOutlasted = 2

/**
 * The turns of one transaction, kept from a lost run to the next one. Each run of a remote client is a transaction of
 * its own. So a transaction may begin with the lost races of those before it.
 */
export class TransactionTurns {
  readonly #core: RowsContext
  readonly #signal: AbortSignal
  readonly #share: TurnShare | undefined
  /** The branches at which it lost, by the id of the table and the name of the branch. */
  readonly #lostAt: Set<string>
  #losses: number
  #outlasted: number
  #isRunLost = false
  #held: Turn | undefined
  #runBegan = 0
  /** The turn in which the run began. */
  #turnOfRun: Turn | undefined
  /** Whether the run was lost to a writer that took no turn. */
  #isOvertaken = false

  constructor(
    core: RowsContext,
    signal: AbortSignal,
    {
      before,
      share,
    }: { readonly before?: LostRaces | undefined; readonly share?: TurnShare | undefined } = {},
  ) {
    this.#core = core
    this.#signal = signal
    this.#share = share
    this.#lostAt = new Set(before?.at)
    this.#losses = before?.races ?? 0
    this.#outlasted = before?.outlasted ?? 0
  }

  /** The lost races so far, with those of transactions before it. Undefined when none was lost at rows. */
  get lost(): LostRaces | undefined {
    if (this.#losses === 0) return undefined
    return { races: this.#losses, at: [...this.#lostAt], outlasted: this.#outlasted }
  }

  /** Notes that a race was lost at the first of these branches, and that the next one may be lost at the others. */
  lose(branches: readonly string[]): void {
    // Several operations of one run may report that it is lost.
    if (!this.#isRunLost) this.#losses++
    this.#isRunLost = true
    this.#isOvertaken =
      this.#lasting !== undefined &&
      this.#turnOfRun === this.#lasting &&
      this.#lasting.has(branches.slice(0, 1))
    for (const branch of branches) {
      rememberContended(this.#core, branch)
      if (this.#lostAt.size < maxNames) this.#lostAt.add(branch)
    }
  }

  /** Takes turns for a run that begins now, where those before lost too often. */
  async beforeRun(): Promise<void> {
    const lastRun = performance.now() - this.#runBegan
    // Other writers check only now and then for turns. Until they do, one run after the other would be lost to them.
    if (this.#isOvertaken) await pause(askMillis, this.#signal)
    this.#isOvertaken = false
    const held = this.#lasting
    const wanted = new Set([...(held?.branches ?? []), ...this.#lostAt])
    const isTooSlow = this.#outlasted >= maxOutlasted
    if (isTooSlow) this.end()
    // The turn must last for the whole of a run, or the run is lost at its end.
    const isEnough = held?.has(wanted) === true && held.left > lastRun
    if (!isTooSlow && !isEnough && (held !== undefined || this.#losses >= minLosses)) await this.#take(wanted)
    this.#turnOfRun = this.#lasting
    this.#runBegan = performance.now()
    this.#isRunLost = false
  }

  /** Commits to branches, in turn where others take turns there. A turn that was taken for it lasts until the end. */
  async atCommit<T>(branches: readonly string[], commit: () => Promise<T>): Promise<T> {
    const contended = branches.filter((branch) => this.#respects(branch))
    const held = this.#lasting
    if (held ? !held.has(contended) : contended.length > 0) {
      const began = performance.now()
      await this.#take(new Set([...branches, ...(held?.branches ?? [])]))
      // The wait is no part of the run.
      this.#runBegan += performance.now() - began
    }
    return this.#lasting ? commit() : inTurns(this.#core, branches, commit)
  }

  /** Ends its turns. `changed` lists the branches of a commit before, if there was one. */
  end(changed?: readonly string[]): void {
    this.#held?.end(changed)
    this.#held = undefined
  }

  get #lasting(): Turn | undefined {
    return this.#held?.isLasting ? this.#held : undefined
  }

  /** Whether others take turns at a branch, checked now and then. */
  #respects(branch: string): boolean {
    if (isContended(this.#core, branch)) return true
    if (this.#core.store.inTurn) askForTurns(this.#core, branch)
    return false
  }

  async #take(branches: ReadonlySet<string>): Promise<void> {
    this.end()
    const wanted = new Set([...branches].filter((branch) => this.#share?.has(branch) !== false))
    if (wanted.size === 0) return
    const turn = new Turn(wanted, this.#share, () => this.#outlasted++)
    this.#held = turn
    const isAmongProcesses = (branch: string) => this.#lostAt.has(branch) || isContended(this.#core, branch)
    await takeTurn(this.#core, turn, isAmongProcesses, this.#signal)
  }
}

/** A turn at several branches, from the moment at which all of them are free. */
class Turn {
  readonly branches: ReadonlySet<string>
  readonly ended: Promise<void>
  readonly #share: TurnShare | undefined
  readonly #onOutlasted: () => void
  #changed: readonly string[] = []
  #end!: () => void
  #until: number | undefined
  #timer: Timer | undefined
  isOver = false

  constructor(branches: ReadonlySet<string>, share: TurnShare | undefined, onOutlasted: () => void) {
    this.branches = branches
    this.#share = share
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
    // The timer keeps the process alive: the function may wait for something that only the end of the turn releases.
    this.#timer = setTimeout(() => {
      this.#onOutlasted()
      this.end()
    }, turnMillis)
  }

  /** Runs work while nothing else in this process has the branch. Ends at once if the caller has used up its share. */
  async keep<T>(branch: string, work: () => Promise<T>): Promise<T> {
    if (this.#share?.has(branch) === false) this.end()
    const began = performance.now()
    try {
      return await work()
    } finally {
      if (!this.#changed.includes(branch)) this.#share?.spend(branch, performance.now() - began)
    }
  }

  end(changed: readonly string[] = []): void {
    if (this.isOver) return
    this.isOver = true
    this.#changed = changed
    clearTimeout(this.#timer)
    this.#end()
  }
}

/** Waits until a turn has begun, for {@link waitMillis} at most. */
async function takeTurn(
  core: RowsContext,
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
      const names = branches.filter(isAmongProcesses).slice(0, maxNames).map(turnAt)
      if (turn.isOver || store.inTurn === undefined || names.length === 0) return last()
      return inProcessTurn(core, names, last)
    }
    // Without a turn, the transaction itself meets the error of the store.
    inTurns(core, branches, among, turn).then(resolve, resolve)
  })
  const late = sleep(waitMillis, { signal: anySignal(signal, waited.signal) }).catch(() => {})
  await Promise.race([begun, late])
  waited.abort()
  if (!turn.isLasting) turn.end()
  signal.throwIfAborted()
}

/**
 * Runs work while no other work of this process has the turns of these branches. They are taken in order, which
 * excludes deadlocks, until `turn` is over.
 */
function inTurns<T>(
  core: RowsContext,
  [branch, ...others]: readonly string[],
  work: () => Promise<T>,
  turn?: Turn,
): Promise<T> {
  if (branch === undefined || turn?.isOver) return work()
  const next = () => inTurns(core, others, work, turn)
  return core.inTurn(branch, () => (turn ? turn.keep(branch, next) : next()))
}
