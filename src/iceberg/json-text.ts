import { type Steps, TimeSlice } from '../base/scheduling/time-slice.ts'
import { stringify } from './json.ts'

/** The JSON text of a value, a long one in parts. */
export type JsonText = string | readonly Buffer[]

/** About how many values become text at once: for so many it takes a millisecond. */
const mostAtOnce = 2_000

/** About how many characters a part has. */
const partLength = 64 * 1024

export interface LongTextOptions {
  readonly signal?: AbortSignal | undefined
  /** Takes memory for a new part. */
  readonly take?: ((bytes: number) => Promise<void> | undefined) | undefined
}

/**
 * The JSON text of parsed JSON, as `stringify` writes it. A long one is made with rests for other work, in parts. Its
 * parts are used again for lists with the same items: these must not be changed.
 */
export function stringifyLong(value: unknown, options: LongTextOptions): JsonText | Promise<JsonText> {
  return isLong(value) ? inParts(value, options) : stringify(value)
}

async function inParts(value: unknown, { signal, take }: LongTextOptions): Promise<readonly Buffer[]> {
  const writer = new PartsWriter()
  const timeSlice = new TimeSlice(signal)
  let taken = 0
  for (const _ of writer.write(value)) {
    const more = writer.made - taken
    if (more > 0) await take?.(more)
    taken += more
    if (timeSlice.due) await timeSlice.rest()
  }
  writer.flush()
  return writer.parts
}

/** Items that follow one another in a list, and their text with commas between them. */
interface Run {
  readonly items: readonly unknown[]
  readonly text: Buffer
}

/** The runs that were written, by their first items. So a commit that adds a snapshot writes that one only. */
const runs = new WeakMap<object, Run>()

class PartsWriter {
  readonly parts: Buffer[] = []
  /** How many bytes of the parts are new. */
  made = 0
  #text = ''

  flush(): void {
    if (this.#text === '') return
    this.#push(Buffer.from(this.#text))
    this.#text = ''
  }

  *write(value: unknown): Steps<void> {
    if (typeof value !== 'object' || !isLong(value)) this.#text += stringify(value)
    else if (Array.isArray(value)) yield* this.#list(value)
    else yield* this.#members(value as Record<string, unknown>)
    if (this.#text.length >= partLength) this.flush()
    yield
  }

  *#members(object: Record<string, unknown>): Steps<void> {
    let before = '{'
    for (const name of Object.keys(object)) {
      if (object[name] === undefined) continue
      this.#text += `${before}${JSON.stringify(name)}:`
      yield* this.write(object[name])
      before = ','
    }
    this.#text += before === '{' ? '{}' : '}'
  }

  *#list(items: readonly unknown[]): Steps<void> {
    this.#text += '['
    for (let at = 0; at < items.length; yield) {
      if (at > 0) this.#text += ','
      const run = runAt(items, at)
      if (run !== undefined) {
        this.flush()
        this.parts.push(run.text)
        at += run.items.length
      } else if (isLong(items[at])) yield* this.write(items[at++])
      else at = this.#newRun(items, at)
    }
    this.#text += ']'
  }

  /** Writes items until they fill a part, or a known run follows. Returns the index after them. */
  #newRun(items: readonly unknown[], start: number): number {
    let text = stringify(items[start])
    let end = start + 1
    for (; end < items.length && text.length < partLength; end++) {
      if (runAt(items, end) !== undefined || isLong(items[end])) break
      text += `,${stringify(items[end])}`
    }
    const first = items[start]
    if (text.length < partLength || typeof first !== 'object' || first === null) this.#text += text
    else {
      this.flush()
      const run = { items: items.slice(start, end), text: Buffer.from(text) }
      runs.set(first, run)
      this.#push(run.text)
    }
    return end
  }

  #push(part: Buffer): void {
    this.parts.push(part)
    this.made += part.length
  }
}

function runAt(items: readonly unknown[], start: number): Run | undefined {
  const first = items[start]
  const run = typeof first === 'object' && first !== null ? runs.get(first) : undefined
  return run?.items.every((item, i) => item === items[start + i]) ? run : undefined
}

function isLong(value: unknown): boolean {
  return roomAfter(value, mostAtOnce) < 0
}

/** What a value leaves of the room for values. Long strings count more. */
function roomAfter(value: unknown, room: number): number {
  if (typeof value === 'string') return room - 1 - (value.length >> 6)
  let left = room - 1
  if (typeof value !== 'object' || value === null) return left
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    if (left < 0) break
    left = roomAfter(inner, left)
  }
  return left
}
