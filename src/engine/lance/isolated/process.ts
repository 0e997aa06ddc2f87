import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { CatalogError, type ErrorCode } from '../../../base/errors.ts'
import { ByteBudget, type Hold } from '../../../base/scheduling/byte-budget.ts'
import { type Semaphore, semaphore } from '../../../base/scheduling/semaphore.ts'
import { processArguments } from '../../../base/scheduling/start-worker.ts'
import { unrefTimer } from '../../../base/scheduling/unref-timer.ts'
import { clearTimeout, setTimeout, type Timer } from '../../../base/time.ts'
import type { LancePackage } from '../native.ts'
import type { LanceRuntime } from '../runtime.ts'
import { type Cause, ProcessEnded } from './ended.ts'
import { type Frame, frameReader, writeFrame } from './frames.ts'
import { besides, type FromProcess, type Portion, type Step } from './messages.ts'
import type { Isolation } from './options.ts'
import { type BatchesFound, type Caller, remotePackage } from './remote.ts'

/** Most calls at once; others wait. */
const mostCalls = 64
/** Most bytes of rows that are on their way to a process: those of the largest insert, and half of it. */
const bytesUnderWay = 1.5 * 2 ** 30
/** How long a process may take to start, in milliseconds. */
const startMillis = 60_000
/** How often a process looks at its memory, in milliseconds. */
const checkMillis = 50

/** What all processes of a catalog share. */
export interface Shared extends Isolation {
  readonly slots: Semaphore
  readonly budget: ByteBudget
  readonly use: ProcessUse
}

/** What the processes of a catalog take, and why they ended before the catalog had no more use for them. */
export interface ProcessUse {
  /** As the last answer of each told. */
  memoryBytes: number
  readonly ended: Record<'time' | 'memory' | 'abandoned' | 'crash', number>
}

export function sharedBy(options: Isolation, use: ProcessUse): Shared {
  return {
    ...options,
    use,
    slots: semaphore(mostCalls),
    budget: new ByteBudget(bytesUnderWay, Number.POSITIVE_INFINITY),
  }
}

interface Pending {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  timer?: Timer
}

/** A process that runs Lance, from its first call to its end. */
export class LanceProcess implements LanceRuntime, Caller {
  readonly #shared: Shared
  readonly #pending = new Map<number, Pending>()
  #child: ChildProcess | undefined
  /** Whether it takes calls. Before, calls wait for its start, and not for Lance. */
  #isStarted = false
  #gone: Promise<void> | undefined
  #late: Timer | undefined
  #nextId = 1
  #memory = 0
  #isClosed = false
  /** Why it was ended, or ended itself. */
  #cause: Cause | undefined
  /** The call that is at fault for it. */
  #atFault: number | undefined

  constructor(shared: Shared) {
    this.#shared = shared
  }

  async load(): Promise<LancePackage> {
    return remotePackage(this)
  }

  get hasEnded(): boolean {
    return this.#cause !== undefined
  }

  /** Memory that was used once is seldom given back. */
  get isWorn(): boolean {
    return this.#memory > this.#shared.memoryBytes / 2
  }

  get idleMillis(): number {
    return this.#shared.idleMillis
  }

  abandon(): void {
    this.#end({ kind: 'abandoned' })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#end({ kind: 'itself', how: 'the catalog was closed' })
    if (this.#child) this.#hold(true)
    await this.#gone
  }

  async call(
    on: number,
    steps: readonly Step[],
    keeps = false,
  ): Promise<{ readonly value: unknown; readonly id: number }> {
    const { slots, budget } = this.#shared
    const { wire, bytes } = apart(steps)
    let hold: Hold | undefined
    await slots.acquire()
    try {
      if (bytes !== undefined && bytes.length > 0) {
        hold = budget.hold(bytes.length)
        await hold.take(bytes.length)
      }
      const id = this.#nextId++
      return { value: await this.#ask(id, { id, on, steps: wire, keeps }, bytes), id }
    } finally {
      hold?.release()
      slots.release()
    }
  }

  release(handle: number): void {
    if (!this.hasEnded) writeFrame(this.#channel(), { releases: handle })
  }

  #ask(id: number, message: object, bytes: Uint8Array | undefined): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#cause) return reject(new ProcessEnded(this.#cause, false))
      // A message that cannot be sent leaves nothing that waits for its answer.
      writeFrame(this.#channel(), message, bytes && [bytes])
      // A catalog that nobody closes does not hold its process, but for what it was asked.
      if (this.#pending.size === 0) this.#hold(true)
      const pending: Pending = { resolve, reject }
      this.#pending.set(id, pending)
      if (this.#isStarted) this.#watch(id, pending)
    })
  }

  #watch(id: number, pending: Pending): void {
    const { callMillis } = this.#shared
    const late = () => this.#end({ kind: 'time', millis: callMillis }, id)
    pending.timer = unrefTimer(setTimeout(late, callMillis))
  }

  #channel(): Socket {
    this.#child ??= this.#start()
    return this.#child.stdio[3] as Socket
  }

  #start(): ChildProcess {
    const { memoryBytes } = this.#shared
    const args = [
      ...processArguments('engine/lance/isolated/child'),
      String(memoryBytes),
      String(checkMillis),
    ]
    const child = spawned(args)
    const channel = child.stdio[3] as Socket
    const read = frameReader((frame) => this.#receive(frame))
    channel.on('data', (chunk: Uint8Array) => {
      try {
        read(chunk)
      } catch (error) {
        this.#end({ kind: 'itself', how: `it answered what is no answer (${String(error)})` })
      }
    })
    this.#late = unrefTimer(
      setTimeout(() => this.#end({ kind: 'itself', how: 'it did not start in a minute' }), startMillis),
    )
    // Its end is told by the process.
    channel.on('error', () => {})
    this.#gone = new Promise((resolve) => {
      const gone = (how: string) => {
        this.#lose(how)
        resolve()
      }
      child.once('error', (error) => gone(`it could not be started (${error.message})`))
      child.once('close', (code, signal) =>
        gone(signal ? `it got the signal ${signal}` : `its exit code was ${code}`),
      )
    })
    child.unref()
    channel.unref()
    return child
  }

  #receive({ message, bytes }: Frame): void {
    const told = message as FromProcess
    if ('tooMuchMemory' in told) {
      // Whose memory it is cannot be told.
      this.#end({ kind: 'memory', bytes: told.tooMuchMemory, limit: this.#shared.memoryBytes })
      return
    }
    if ('started' in told) {
      this.#isStarted = true
      clearTimeout(this.#late)
      for (const [id, pending] of this.#pending) this.#watch(id, pending)
      return
    }
    this.#note(told.memory)
    const pending = this.#pending.get(told.id)
    if (pending === undefined) return
    this.#settled(told.id, pending)
    if (told.error) pending.reject(errorOf(told.error))
    else if (told.portion) pending.resolve(batchesOf(told.portion, bytes!))
    else pending.resolve(bytes ?? told.value)
  }

  #note(memory: number): void {
    this.#shared.use.memoryBytes += memory - this.#memory
    this.#memory = memory
  }

  #settled(id: number, { timer }: Pending): void {
    clearTimeout(timer)
    this.#pending.delete(id)
    if (this.#pending.size === 0) this.#hold(false)
  }

  /** Whether this process waits for that one: for its answers, and for its end. */
  #hold(waits: boolean): void {
    const child = this.#child!
    for (const handle of [child, child.stdio[3] as Socket]) {
      if (waits) handle.ref()
      else handle.unref()
    }
  }

  /** Ends the process at once. Calls under way fail when it is gone. */
  #end(cause: Cause, atFault?: number): void {
    if (this.#cause) return
    this.#cause = cause
    this.#atFault = atFault
    this.#child?.kill('SIGKILL')
  }

  #lose(how: string): void {
    this.#cause ??= { kind: 'itself', how }
    clearTimeout(this.#late)
    this.#note(0)
    const { ended } = this.#shared.use
    if (!this.#isClosed) ended[this.#cause.kind === 'itself' ? 'crash' : this.#cause.kind]++
    for (const [id, pending] of [...this.#pending]) {
      this.#settled(id, pending)
      pending.reject(new ProcessEnded(this.#cause, id === this.#atFault))
    }
  }
}

/** A process of Node with a channel as its file 3. Throws where the system starts none now. */
function spawned(args: readonly string[]): ChildProcess {
  let cause: unknown
  try {
    // What Lance prints is for people. The output of this process may be for programs.
    const child = spawn(process.execPath, args, { stdio: ['ignore', 2, 2, 'pipe'], windowsHide: true })
    // Without a listener, the event would end this process.
    child.once('error', () => {})
    // Node makes no channel where too many files are open.
    if ((child.stdio as ChildProcess['stdio'] | undefined)?.[3]) return child
  } catch (error) {
    cause = error
  }
  throw new CatalogError(
    'ServiceUnavailable',
    'The process of Lance cannot be started: too many files or processes are open, or the machine has no memory. Do less at once, or raise the limit, and try again.',
    { cause },
  )
}

/** The steps of a call, and the bytes among their arguments. */
function apart(steps: readonly Step[]): {
  readonly wire: readonly Step[]
  readonly bytes: Uint8Array | undefined
} {
  let bytes: Uint8Array | undefined
  const wire = steps.map(([method, args]): Step => {
    const plain = args.map((arg) => {
      if (!(arg instanceof Uint8Array)) return arg
      bytes = arg
      return besides
    })
    return [method, plain]
  })
  return { wire, bytes }
}

function batchesOf({ batches, isLast }: Portion, bytes: Uint8Array): BatchesFound {
  return { batches: batches.map(([from, to]) => bytes.subarray(from, to)), isLast }
}

function errorOf({ message, code }: { readonly message: string; readonly code?: string }): Error {
  return code === undefined ? new Error(message) : new CatalogError(code as ErrorCode, message)
}
