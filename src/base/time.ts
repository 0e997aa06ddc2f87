import { performance as measured } from 'node:perf_hooks'
import nodeTimers from 'node:timers'
import nodePromises from 'node:timers/promises'

/*
 * All timers and clocks of this package. Test suites replace those of the runtime for a while, in the same process. A
 * catalog that waits for a replaced timer stops, possibly for ever. So this module keeps the runtime's own functions
 * as soon as it finds them. When it is loaded while they are replaced, it uses slower functions that test suites do
 * not replace.
 */

/** A timer that was set. `unref` lets the process end before it. */
export interface Timer {
  unref?(): unknown
}

type Work = () => void

interface Timers {
  setTimeout(work: Work, millis?: number): Timer
  clearTimeout(timer: Timer | undefined): void
  setInterval(work: Work, millis?: number): Timer
  clearInterval(timer: Timer | undefined): void
  setImmediate(work: Work): Timer
  clearImmediate(timer: Timer | undefined): void
}

const names = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'clearImmediate',
] as const

/** The runtime's own functions, once they were found. @internal Tests replace them here. */
export const runtime: { timers: Timers | undefined; dateNow: (() => number) | undefined } = {
  timers: ownTimers(),
  dateNow: ownDateNow(),
}

/** The runtime's own timers; undefined while they are replaced. */
function ownTimers(): Timers | undefined {
  const found = nodeTimers as unknown as Readonly<Record<string, unknown>>
  if (names.some((name) => isReplaced(found[name]))) return undefined
  return Object.fromEntries(
    names.map((name) => [name, (found[name] as Work).bind(globalThis)]),
  ) as unknown as Timers
}

function timersNow(): Timers | undefined {
  runtime.timers ??= ownTimers()
  return runtime.timers
}

/** Timers of sinon, vitest and jest have a `clock`; those of `node:test` are bound methods. */
function isReplaced(timer: unknown): boolean {
  return (
    typeof timer !== 'function' ||
    'clock' in timer ||
    '_isMockFunction' in timer ||
    timer.name.startsWith('bound ')
  )
}

/** Calls back after so many milliseconds. */
export function setTimeout(work: Work, millis?: number): Timer {
  return timersNow()?.setTimeout(work, millis) ?? new PromisedTimer(work, millis)
}

/** Calls back every so many milliseconds. */
export function setInterval(work: Work, millis?: number): Timer {
  return timersNow()?.setInterval(work, millis) ?? new PromisedTimer(work, millis, true)
}

/** Calls back after the event loop has handled its other events. */
export function setImmediate(work: Work): Timer {
  return timersNow()?.setImmediate(work) ?? new PromisedTimer(work)
}

export function clearTimeout(timer: Timer | undefined): void {
  if (timer instanceof PromisedTimer) timer.stop()
  else runtime.timers?.clearTimeout(timer)
}

export function clearInterval(timer: Timer | undefined): void {
  if (timer instanceof PromisedTimer) timer.stop()
  else runtime.timers?.clearInterval(timer)
}

export function clearImmediate(timer: Timer | undefined): void {
  if (timer instanceof PromisedTimer) timer.stop()
  else runtime.timers?.clearImmediate(timer)
}

/** Calls back after the code that runs now. Test suites replace the global function, but cannot replace promises. */
export function queueMicrotask(work: Work): void {
  void resolved.then(work)
}

const resolved = Promise.resolve()

/** Resolves after the event loop has handled its other events. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** Resolves after so many milliseconds. Rejects with the signal's reason when the signal aborts first. */
export function sleep(
  millis: number,
  { signal, ref = true }: { readonly signal?: AbortSignal | undefined; readonly ref?: boolean } = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, millis)
    if (!ref) timer.unref?.()
    signal?.addEventListener('abort', stop, { once: true })
  })
}

interface Scheduler {
  wait(millis: number, options: { readonly ref: boolean; readonly signal: AbortSignal }): Promise<void>
  yield(): Promise<void>
}

const scheduler = nodePromises.scheduler as unknown as Scheduler
/** Test suites replace members of `scheduler` itself; its prototype keeps the runtime's own. */
const inherited: Partial<Scheduler> = Object.getPrototypeOf(scheduler)
const waitFor = inherited.wait ?? scheduler.wait
const yieldOnce = inherited.yield ?? scheduler.yield

/** A timer made of promises, for use while timers are replaced. Without `millis`, it waits for the event loop only. */
class PromisedTimer implements Timer {
  readonly #work: Work
  readonly #stop = new AbortController()
  #ref = true

  constructor(work: Work, millis?: number, repeats = false) {
    this.#work = work
    void this.#run(millis, repeats)
  }

  unref(): void {
    this.#ref = false
  }

  stop(): void {
    this.#stop.abort()
  }

  async #run(millis: number | undefined, repeats: boolean): Promise<void> {
    const { signal } = this.#stop
    // The caller calls `unref` right after the constructor.
    await resolved
    do {
      if (millis === undefined) await yieldOnce.call(scheduler)
      else await waitFor.call(scheduler, millis, { ref: this.#ref, signal }).catch(() => {})
      if (signal.aborted) return
      this.#work()
    } while (repeats)
  }
}

const { timeOrigin } = measured
/** Test suites replace the method of the object, not of its prototype. In Bun, only the object has one. */
const steadyNow: () => number = Object.getPrototypeOf(measured).now ?? measured.now

/** The monotonic clock, in milliseconds. */
export const performance = { now: steadyNow.bind(measured) }

function ownDateNow(): (() => number) | undefined {
  const { now } = Date
  const isNative = /^function now\(\)\s*\{\s*\[native code\]\s*\}$/.test(
    Function.prototype.toString.call(now),
  )
  return isNative ? now : undefined
}

/** The wall clock: milliseconds since the epoch. */
export function wallClock(): number {
  runtime.dateNow ??= ownDateNow()
  return runtime.dateNow ? runtime.dateNow() : Math.floor(timeOrigin + performance.now())
}

/** What {@link withOwnTimers} puts in place of the global functions. */
const standIns: Readonly<Record<string, unknown>> = {
  setTimeout: (work: Work, millis?: number) => setTimeout(() => withOwnTimers(work), millis),
  clearTimeout,
  setImmediate: (work: Work) => setImmediate(() => withOwnTimers(work)),
  clearImmediate,
  queueMicrotask: (work: Work) => queueMicrotask(() => withOwnTimers(work)),
}

/** The globals that were found to be the runtime's own. Comparing functions takes less time than inspecting them. */
const ownGlobals: unknown[] = []

function areGlobalsOwn(): boolean {
  const { setTimeout, setImmediate, queueMicrotask } = globalThis
  const own = ownGlobals
  if (setTimeout === own[0] && setImmediate === own[1] && queueMicrotask === own[2]) return true
  const globals = [setTimeout, setImmediate, queueMicrotask]
  if (globals.some(isReplaced)) return false
  ownGlobals.splice(0, ownGlobals.length, ...globals)
  return true
}

/**
 * Runs synchronous work of a library that finds timers by their global names. While these are replaced, the library
 * gets the timers of this module.
 */
export function withOwnTimers<T>(work: () => T): T {
  if (areGlobalsOwn()) return work()
  const before = Object.keys(standIns).map(
    (name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)!] as const,
  )
  for (const [name] of before) {
    Object.defineProperty(globalThis, name, { value: standIns[name], configurable: true, writable: true })
  }
  try {
    return work()
  } finally {
    for (const [name, descriptor] of before) Object.defineProperty(globalThis, name, descriptor)
  }
}
