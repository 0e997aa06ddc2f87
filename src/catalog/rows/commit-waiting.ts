import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier } from '../../base/model/identifier.ts'
import { clearTimeout, setTimeout } from '../../base/time.ts'
import { onBranch } from '../lookup/versions.ts'
import { commitDraft, type Draft, isSame, readHead, writeDraft } from './attempt.ts'
import type { Attempt, BranchAtWork, KnownHead, RowsChanged, Waiting } from './change-types.ts'
import { askForTurns, inTurnAt, isContended, rememberContended } from './contention.ts'
import type { RowsContext } from './context.ts'

/*
 * Changes of one branch that wait together are committed together. Each gets a version of its own, written on top of
 * the one before it. Then all are synced at once, and their commits are handed to the store in one turn of the event
 * loop, which makes one commit of them. When one of them fails, those behind it are written again.
 */

/** A change and the version that was written for it. */
interface Written {
  readonly waiting: Waiting
  readonly draft: Draft
}

const maxAttempts = 200

/** The most changes that are committed together. */
const maxTogether = 64

/** The most groups that a process commits to a branch in one turn, while others wait. */
const maxInTurn = 4

/** About how many milliseconds a written change waits for others behind it. */
const groupDelayMillis = 10

/**
 * Makes and commits the next version, together with other waiting changes, and on top of what others committed first.
 */
export function commitWaiting(
  core: RowsContext,
  key: string,
  branch: BranchAtWork,
  attempt: Attempt,
): Promise<RowsChanged> {
  return new Promise((resolve, reject) => {
    const one: Waiting = {
      attempt,
      losses: 0,
      isSettled: false,
      settle: (result) => {
        one.isSettled = true
        if ('error' in result) return reject(result.error)
        const { change, found, prepared, transaction } = attempt
        const { version, affected, counts, snapshot } = result.made
        const reported = change.reported?.(snapshot)
        const step = {
          change,
          found,
          prepared,
          transactionId: transaction.id,
          version,
          manifest: snapshot.manifest.path,
          affected,
          counts,
          reported,
        }
        core.staging?.changed(step)
        resolve(result.made)
      },
    }
    branch.waiting.push(one)
    // The change that has the turn commits all that wait.
    const turn = core.inTurn(key, async () => {
      while (!one.isSettled) await commitTogether(core, key, branch)
    })
    const release = () => attempt.inline?.release()
    // Changes that were written on top of this one, and read its objects, are settled by then, or written again.
    turn.then(release, (error) => {
      release()
      reject(error)
    })
  })
}

/** Commits changes that wait. Those that lose a race wait again, before all others. */
async function commitTogether(core: RowsContext, key: string, branch: BranchAtWork): Promise<void> {
  const { store } = core
  if (store.inTurn === undefined) return commitNext(core, key, branch)
  // A turn binds only processes that take turns. So all take turns while others are active: a slow process would
  // otherwise lose to a quick one again and again.
  if (!isContended(core, key)) {
    askForTurns(core, key)
    return commitNext(core, key, branch)
  }
  return inTurnAt(core, key, async () => {
    await commitAfresh(core, key, branch)
    // Changes that arrived meanwhile are committed in the same turn: a wait for another turn takes longer than a
    // commit.
    for (let group = 1; group < maxInTurn && branch.waiting.length > 0; group++)
      await commitNext(core, key, branch)
  })
}

/** Reads the head before the commit: others commit to the branch, so the last known head is stale after a pause. */
async function commitAfresh(core: RowsContext, key: string, branch: BranchAtWork): Promise<void> {
  const head = await headNow(core, branch)
  if (head === undefined) return
  if (!isSame(head, branch.head)) rememberContended(core, key)
  branch.head = head
  return commitNext(core, key, branch)
}

async function commitNext(core: RowsContext, key: string, branch: BranchAtWork): Promise<void> {
  const together = branch.waiting.splice(0, maxTogether)
  const { isGuess } = branch.head
  try {
    const lost = await commitChain(core, branch, together)
    if (lost.length > 0 && !isGuess) rememberContended(core, key)
    branch.waiting.unshift(...lost)
  } catch (error) {
    for (const one of together) one.settle({ error })
  }
}

/** The current head of the branch. A change that cannot read it fails. Undefined when no change is left. */
async function headNow(core: RowsContext, branch: BranchAtWork): Promise<KnownHead | undefined> {
  for (;;) {
    const first = branch.waiting[0]
    if (first === undefined) return undefined
    try {
      return await readHead(core, first.attempt)
    } catch (error) {
      first.settle({ error })
      branch.waiting.shift()
    }
  }
}

/** Writes versions on top of each other, and commits them. Returns the changes that lost a race. */
async function commitChain(
  core: RowsContext,
  branch: BranchAtWork,
  together: readonly Waiting[],
): Promise<Waiting[]> {
  const lost: Waiting[] = []
  const written: Written[] = []
  let head = branch.head
  for (const waiting of together) {
    if (!mayGoOn(waiting)) continue
    const writing = write(core, waiting, head)
    // What is written need not wait for a change that takes long.
    if (written.length > 0 && (await isSlow(writing)))
      lost.push(...(await commitWritten(core, branch, written.splice(0))))
    const draft = await writing
    if (draft === undefined) continue
    head = draft.to
    written.push({ waiting, draft })
  }
  return lost.concat(await commitWritten(core, branch, written))
}

/** Writes the version of a change. A change that fails is settled. */
async function write(core: RowsContext, waiting: Waiting, head: KnownHead): Promise<Draft | undefined> {
  try {
    return await writeDraft(core, waiting.attempt, head)
  } catch (error) {
    waiting.settle({ error })
    return undefined
  }
}

/** Whether work takes longer than {@link groupDelayMillis}. Resolves as soon as that is known. */
function isSlow(work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), groupDelayMillis)
    void work.then(() => {
      clearTimeout(timer)
      resolve(false)
    })
  })
}

/** Commits what is written, in its order. Returns the changes that lost a race. */
async function commitWritten(
  { counts }: RowsContext,
  branch: BranchAtWork,
  written: readonly Written[],
): Promise<Waiting[]> {
  const synced = await Promise.allSettled(
    written.map(({ waiting: { attempt } }) =>
      Promise.all([attempt.found.engine.sync(), attempt.transaction.recorded]),
    ),
  )
  const lost: Waiting[] = []
  // No await before the last one is handed over: the store keeps their order, and may commit them together.
  const commits = written.map(async ({ waiting, draft }, i) => {
    const sync = synced[i]!
    if (sync.status === 'rejected') {
      waiting.settle({ error: sync.reason })
      return
    }
    if (!mayGoOn(waiting)) return
    try {
      const { made, head } = await commitDraft(waiting.attempt, draft)
      branch.head = head
      if (made) waiting.settle({ made })
      else {
        if (!draft.from.isGuess) counts.lostRows++
        if (++waiting.losses < maxAttempts) lost.push(waiting)
        else waiting.settle({ error: tooManyLosses(waiting.attempt) })
      }
    } catch (error) {
      waiting.settle({ error })
    }
  })
  await Promise.all(commits)
  return lost
}

/** Whether a change goes on. One that was stopped is settled. */
function mayGoOn(waiting: Waiting): boolean {
  const { signal } = waiting.attempt.work
  if (waiting.isSettled) return false
  if (!signal?.aborted) return true
  waiting.settle({ error: signal.reason })
  return false
}

function tooManyLosses({ change: { id, branch } }: Attempt): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `Other writers committed first ${maxAttempts} times in a row to ${formatIdentifier(id)}${onBranch(branch)}. Try again when there is less going on.`,
  )
}
