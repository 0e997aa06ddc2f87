import nodeCrypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { setImmediate as nodeSetImmediate } from 'node:timers'
import { secretIdSource } from '../../src/model/ids.ts'
import { performance, runtime } from '../../src/time.ts'
import { Draw } from '../support/draw.ts'
import { beginning, type Scheduler } from './scheduler.ts'

/** A turn of the event loop that is there, and not simulated. */
export const realTurn = (work: () => void): unknown => nodeSetImmediate(work)

/**
 * Lets all timers, clocks and random numbers of the package come from a scheduler until the answer is called. Whose clock
 * is looked at, and who waits, is told by the event that is being done.
 */
export function takeOverTime(scheduler: Scheduler, seed: number): () => void {
  const { timers, dateNow } = runtime
  const { now } = performance
  const { random } = Math
  const { randomUUID, randomInt } = nodeCrypto
  const draw = new Draw(seed ^ 0x5eed)
  runtime.timers = timersOf(scheduler)
  runtime.dateNow = () => Math.floor(beginning + scheduler.now + scheduler.current.machine.offset)
  performance.now = () => scheduler.now
  Math.random = () => draw.next()
  const fill = (bytes: Uint8Array) => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = draw.below(256)
    return bytes
  }
  let filled = 0
  Object.defineProperty(globalThis.crypto, 'getRandomValues', {
    value: (bytes: Uint8Array) => {
      filled++
      return fill(bytes)
    },
    configurable: true,
  })
  nodeCrypto.randomUUID = () => uuidOf(fill(new Uint8Array(16))) as ReturnType<typeof randomUUID>
  nodeCrypto.randomInt = ((end: number) => draw.below(end)) as typeof randomInt
  syncBuiltinESMExports()
  // Random bytes are kept for later. Those of the run before are used up, so that each run begins alike.
  const use = secretIdSource(() => 0)
  while (filled === 0) use()
  return () => {
    Object.assign(runtime, { timers, dateNow })
    performance.now = now
    Math.random = random
    Reflect.deleteProperty(globalThis.crypto, 'getRandomValues')
    Object.assign(nodeCrypto, { randomUUID, randomInt })
    syncBuiltinESMExports()
  }
}

function timersOf(scheduler: Scheduler): NonNullable<typeof runtime.timers> {
  interface Called {
    event: { isCalledOff: boolean }
  }
  const callOff = (timer: unknown) => {
    if (timer !== undefined) (timer as Called).event.isCalledOff = true
  }
  const timer = (event: Called['event']): Called & { unref(): void } => ({ event, unref: () => {} })
  return {
    setTimeout: (work, millis = 0) => timer(scheduler.after(scheduler.current, late(millis), 'timer', work)),
    setInterval: (work, millis = 0) => {
      const by = scheduler.current
      const again = timer({ isCalledOff: false })
      const next = () => {
        again.event = scheduler.after(by, late(millis), 'interval', () => {
          next()
          work()
        })
      }
      next()
      return again
    },
    setImmediate: (work) => timer(scheduler.after(scheduler.current, 0, 'turn', work, true)),
    clearTimeout: callOff,
    clearInterval: callOff,
    clearImmediate: callOff,
  }

  /** Timers come a little late, and never at once. */
  function late(millis: number): number {
    return Math.max(1, millis) + scheduler.draw.next()
  }
}

function uuidOf(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}
