import { setTimeout as nodeSetTimeout } from 'node:timers'
import { Draw } from '../support/draw.ts'

/** A process or a service of a simulated fleet. It may be paused, and does nothing after its end. */
export class Actor {
  readonly name: string
  /** The wall clock of its machine. */
  readonly machine: Machine
  pausedUntil = 0
  isAlive = true

  constructor(name: string, machine: Machine) {
    this.name = name
    this.machine = machine
  }
}

/** A machine, whose clock may be wrong and may step. */
export class Machine {
  /** The error of its clock, in milliseconds. */
  offset = 0
}

interface Event {
  at: number
  readonly order: number
  readonly by: Actor
  readonly label: string
  readonly work: () => unknown
  /** A turn of the event loop. It comes even after the end of its process, since processes share modules that wait for it. */
  readonly isTurn: boolean
  isCalledOff: boolean
}

/** The initial time of correct clocks. */
export const beginning = Date.UTC(2026, 0, 1)

/** The most events of a run. One with more of them is an infinite loop. */
const mostEvents = 400_000

/** A deadlock or an infinite loop in a run. */
class Stuck extends Error {}

/**
 * Virtual time with a queue of events. Before the next event, everything that the current one causes without time or
 * messages has completed. So a seed determines the order of everything.
 */
export class Scheduler {
  readonly draw: Draw
  /** Milliseconds since the beginning. */
  now = 0
  /** The actor of events without a process. It is never paused. */
  readonly environment = new Actor('environment', new Machine())
  /** The actor of the current event. */
  current = this.environment
  events = 0
  /** How many milliseconds modules may take to load, in a run whose order does not matter. */
  loading = 0
  /** The last events as text. */
  readonly recent: string[] = []
  readonly #heap: Event[] = []
  readonly #turn: (work: () => void) => unknown
  #order = 0
  #hash = 0x811c9dc5

  constructor(seed: number, turn: (work: () => void) => unknown) {
    this.draw = new Draw(seed)
    this.#turn = turn
  }

  /** A hash of all events so far. */
  get hash(): number {
    return this.#hash >>> 0
  }

  /** Schedules work for the actor `by`, after some milliseconds. */
  after(by: Actor, millis: number, label: string, work: () => unknown, isTurn = false): Event {
    const event = {
      at: this.now + Math.max(0, millis),
      order: this.#order++,
      by,
      label,
      work,
      isTurn,
      isCalledOff: false,
    }
    this.#push(event)
    return event
  }

  /** Waits as the actor `by`. Never resolves if that actor ends. */
  sleep(by: Actor, millis: number, label = 'sleep'): Promise<void> {
    return new Promise((resolve) => {
      this.after(by, millis, label, resolve)
    })
  }

  /** Runs events until `isOver`. Fails if no events are left before, or if it takes longer than `until`. */
  async run(isOver: () => boolean, until: number): Promise<void> {
    await this.#settle()
    while (!isOver()) {
      const event = this.#pop()
      if (event === undefined) {
        if (await this.#waitForReal()) continue
        throw new Stuck('Somebody waits for something that never comes.')
      }
      if (event.isCalledOff || (!event.by.isAlive && !event.isTurn)) continue
      if (event.by.pausedUntil > event.at && event.by.isAlive) {
        event.at = event.by.pausedUntil
        this.#push(event)
        continue
      }
      if (event.at > until) throw new Stuck(`Somebody still waits after ${Math.round(until / 1000)} seconds.`)
      if (++this.events > mostEvents) throw new Stuck(`There is no end after ${mostEvents} events.`)
      this.now = event.at
      this.current = event.by
      this.note(event.by, event.label)
      event.work()
      await this.#settle()
    }
  }

  /** Adds a line to the trace. */
  note(by: Actor, text: string): void {
    const line = `${this.now.toFixed(3)} ${by.name}: ${text}`
    for (let i = 0; i < line.length; i++) this.#hash = Math.imul(this.#hash ^ line.charCodeAt(i), 0x01000193)
    this.recent.push(line)
    if (this.recent.length > 4_000) this.recent.splice(0, 2_000)
  }

  /** Completes pending turns of the event loop, so that no state of this run is left in modules. */
  async endTurns(): Promise<void> {
    for (let event = this.#pop(); event !== undefined; event = this.#pop()) {
      if (!event.isTurn || event.isCalledOff) continue
      event.by.isAlive = false
      this.current = event.by
      event.work()
      await this.#settle()
    }
  }

  /** A run that loads modules may wait for a real read of a file. */
  async #waitForReal(): Promise<boolean> {
    if (this.loading-- <= 0) return false
    await new Promise((resolve) => nodeSetTimeout(resolve, 1))
    return true
  }

  /** Resolves when all work that needs neither time nor messages is done. */
  #settle(): Promise<void> {
    return new Promise((resolve) => {
      this.#turn(resolve)
    })
  }

  #push(event: Event): void {
    const heap = this.#heap
    let at = heap.push(event) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(event, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = event
  }

  #pop(): Event | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || last === first) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return first
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}
