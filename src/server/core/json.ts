import { isUtf8 } from 'node:buffer'
import { type CatalogError, invalid } from '../../base/errors.ts'
import { TimeSlice } from '../../base/scheduling/time-slice.ts'
import type { Limits } from '../options.ts'

/*
 * `JSON.parse` cannot be interrupted, and takes seconds for some bodies of a few megabytes: a million keys of one
 * object, or arrays in arrays. So the bytes are looked through first, for what takes time or memory out of proportion.
 * Then a large body is parsed member by member, in pieces that take a few milliseconds each.
 */

/** What a JSON body may be made of. */
export type JsonLimits = Pick<Limits, 'jsonDepth' | 'jsonValues' | 'jsonMembers' | 'jsonTextBytes'>

/** A body of so many bytes is parsed at once. The pieces of larger ones have about so many. */
const pieceBytes = 32 * 1024

/** The value of a JSON body; undefined for an empty one. A large body is parsed in time slices. */
export function parseJson(bytes: Buffer, limits: JsonLimits, piece = pieceBytes): unknown {
  if (bytes.length === 0) return undefined
  // Decoding would put another character in the place of what is broken, into a name for instance.
  if (!isUtf8(bytes)) throw invalid('The body is not valid UTF-8. Encode JSON in UTF-8.')
  if (bytes.length > piece) return parseInPieces(bytes, limits, piece)
  if (!isSmall(bytes.length, limits)) requireWithin(bytes, limits)
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw notJson(reasonOf(cause), cause)
  }
}

/** Whether no limit can be passed, since whatever is counted is at least one byte long. */
function isSmall(length: number, { jsonDepth, jsonValues, jsonMembers, jsonTextBytes }: JsonLimits): boolean {
  return length <= jsonDepth && length <= jsonValues && length <= jsonMembers && length <= jsonTextBytes
}

function requireWithin(bytes: Buffer, limits: JsonLimits): void {
  const pieces = new JsonPieces(bytes, limits, Number.POSITIVE_INFINITY)
  try {
    pieces.goOn(bytes.length)
  } catch (error) {
    // Parsing the whole says better what is wrong.
    if (!(error instanceof Broken)) throw error
  }
}

async function parseInPieces(bytes: Buffer, limits: JsonLimits, piece: number): Promise<unknown> {
  const timeSlice = new TimeSlice(undefined)
  const pieces = new JsonPieces(bytes, limits, piece)
  try {
    while (pieces.at < bytes.length) {
      pieces.goOn(pieces.at + piece)
      if (timeSlice.due) await timeSlice.rest()
    }
    return pieces.whole()
  } catch (error) {
    if (!(error instanceof Broken)) throw error
    throw notJson(`${error.message} near byte ${error.at.toLocaleString('en')}`, error)
  }
}

/** Not JSON. */
class Broken extends Error {
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

/** An object or array that was begun and not ended. */
class Container {
  isArray = false
  /** Where it begins. */
  start = 0
  /** Members so far: keys of an object, and those of a list that are texts, objects or lists. */
  members = 0
  /** Where its members begin that were not parsed. */
  from = 0
  /** Where the member under way begins. */
  memberFrom = 0
  /** What was parsed of it, once it is known to be larger than a piece. */
  target: unknown[] | Record<string, unknown> | undefined
  /** The end of the member under way, when that is itself parsed in pieces; below zero otherwise. */
  memberEnd = -1
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Looks through a body once, from its beginning to its end, and parses its pieces as they come. */
class JsonPieces {
  /** The bytes before it were looked at. */
  at = 0
  readonly #bytes: Buffer
  readonly #limits: JsonLimits
  readonly #piece: number
  /** Containers by their depth, which are used again and again. */
  readonly #containers: Container[] = []
  #depth = 0
  #values = 1
  #isInText = false
  /** Where the last bracket or comma was. */
  #markAt = 0
  #root: { readonly value: unknown; readonly end: number } | undefined

  constructor(bytes: Buffer, limits: JsonLimits, piece: number) {
    this.#bytes = bytes
    this.#limits = limits
    this.#piece = piece
  }

  /** Goes on to about this byte. */
  goOn(to: number): void {
    const bytes = this.#bytes
    const end = Math.min(to, bytes.length)
    let at = this.at
    for (; at < end; at++) {
      const byte = bytes[at]!
      if (this.#isInText) {
        if (byte === backslash) at++
        else if (byte === quote) this.#isInText = false
      } else if (byte === quote) this.#text()
      else if (byte === comma) this.#comma(at)
      else if (byte === openArray || byte === openObject) this.#open(at, byte === openArray)
      else if (byte === closeArray || byte === closeObject) this.#close(at, byte === closeArray)
    }
    this.at = at
    this.#requireShort(at)
  }

  /** The value of all. */
  whole(): unknown {
    if (this.#depth > 0 || this.#isInText) throw new Broken('Unexpected end', this.#bytes.length)
    const root = this.#root
    if (root === undefined) return this.#parse(0, this.#bytes.length, '', '')
    this.#requireBlank(root.end, this.#bytes.length)
    return root.value
  }

  #open(at: number, isArray: boolean): void {
    this.#mark(at)
    if (this.#depth === 0) {
      if (this.#root !== undefined) throw new Broken('A second value', at)
      this.#requireBlank(0, at)
    } else if (this.#containers[this.#depth]!.memberEnd >= 0) {
      throw new Broken('Expected a comma', at)
    }
    // Each container has one value more than commas, unless it is empty.
    this.#count()
    this.#item()
    const { jsonDepth } = this.#limits
    if (++this.#depth > jsonDepth)
      throw tooMuch('nests deeper than', jsonDepth, 'levels', 'jsonDepth', 'Flatten it')
    this.#containers[this.#depth] ??= new Container()
    const container = this.#containers[this.#depth]!
    container.isArray = isArray
    container.start = at
    // The last member of an object has no comma.
    container.members = isArray ? 0 : 1
    container.from = at + 1
    container.memberFrom = at + 1
    container.target = undefined
    container.memberEnd = -1
  }

  #comma(at: number): void {
    this.#mark(at)
    if (this.#depth === 0) throw new Broken("Unexpected ','", at)
    this.#count()
    const container = this.#containers[this.#depth]!
    if (!container.isArray) this.#countMember(container)
    if (container.memberEnd >= 0) {
      this.#requireBlank(container.memberEnd, at)
      container.memberEnd = -1
      container.from = at + 1
    } else if (at - container.from >= this.#piece) {
      this.#begin(this.#depth)
      this.#append(container, container.from, at)
      container.from = at + 1
    }
    container.memberFrom = at + 1
  }

  #close(at: number, isArray: boolean): void {
    this.#mark(at)
    if (this.#depth === 0) throw new Broken('Unexpected bracket', at)
    const container = this.#containers[this.#depth]!
    if (container.isArray !== isArray) throw new Broken('Unexpected bracket', at)
    const { target, start, from, memberEnd } = container
    if (memberEnd >= 0) this.#requireBlank(memberEnd, at)
    else if (target !== undefined) this.#append(container, from, at)
    this.#depth--
    if (this.#depth === 0) {
      const isParsed = target !== undefined || this.#piece === Number.POSITIVE_INFINITY
      this.#root = { value: isParsed ? target : this.#parse(start, at + 1, '', ''), end: at + 1 }
    } else if (target !== undefined) this.#containers[this.#depth]!.memberEnd = at + 1
  }

  /** From now on, a container and those around it are parsed in pieces. */
  #begin(depth: number): void {
    const container = this.#containers[depth]!
    if (container.target !== undefined) return
    const target: Container['target'] = container.isArray ? [] : {}
    container.target = target
    if (depth === 1) return
    this.#begin(depth - 1)
    const around = this.#containers[depth - 1]!
    const { from, memberFrom } = around
    if (memberFrom > from) this.#append(around, from, memberFrom - 1)
    around.from = memberFrom
    if (Array.isArray(around.target)) {
      this.#requireBlank(memberFrom, container.start)
      around.target.push(target)
    } else {
      const [key] = Object.keys(this.#parse(memberFrom, container.start, '{', '0}') as object)
      setMember(around.target!, key!, target)
    }
  }

  /** Parses members, of which there is at least one, and adds them to those before. */
  #append({ target }: Container, from: number, to: number): void {
    if (Array.isArray(target)) {
      const items = this.#parse(from, to, '[', ']') as unknown[]
      if (items.length === 0) throw new Broken('Expected a value', to)
      for (const item of items) target.push(item)
    } else {
      const members = this.#parse(from, to, '{', '}') as Record<string, unknown>
      const keys = Object.keys(members)
      if (keys.length === 0) throw new Broken('Expected a key', to)
      for (const key of keys) setMember(target!, key, members[key])
    }
  }

  #parse(from: number, to: number, before: string, after: string): unknown {
    try {
      return JSON.parse(before + this.#bytes.toString('utf8', from, to) + after)
    } catch (error) {
      throw new Broken(reasonOf(error).replace(/ (?:in JSON )?at position \d+.*/s, ''), from)
    }
  }

  #text(): void {
    this.#isInText = true
    this.#item()
  }

  /** Counts an item of a list. Numbers are left out: vectors have many, and checking them takes little. */
  #item(): void {
    const container = this.#depth === 0 ? undefined : this.#containers[this.#depth]!
    if (container?.isArray === true) this.#countMember(container)
  }

  #countMember(container: Container): void {
    const { jsonMembers } = this.#limits
    if (++container.members <= jsonMembers) return
    const what = container.isArray ? 'has a list of more than' : 'has an object of more than'
    throw tooMuch(what, jsonMembers, 'members', 'jsonMembers', 'Send fewer at a time')
  }

  #count(): void {
    const { jsonValues } = this.#limits
    if (++this.#values > jsonValues)
      throw tooMuch('has more than', jsonValues, 'values', 'jsonValues', 'Send less at a time')
  }

  #mark(at: number): void {
    this.#requireShort(at)
    this.#markAt = at
  }

  #requireShort(at: number): void {
    const { jsonTextBytes } = this.#limits
    if (at - this.#markAt - 1 > jsonTextBytes)
      throw tooMuch(
        'has a member of more than',
        jsonTextBytes,
        'bytes',
        'jsonTextBytes',
        'Send a shorter text',
      )
  }

  #requireBlank(from: number, to: number): void {
    for (let at = from; at < to; at++) {
      const byte = this.#bytes[at]!
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)
        throw new Broken('Expected a comma or a bracket', at)
    }
  }
}

/** Sets a member as `JSON.parse` does, `__proto__` like any other. */
function setMember(target: object, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else (target as Record<string, unknown>)[key] = value
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message.slice(0, 200) : ''
}

function notJson(reason: string, cause: unknown): CatalogError {
  return invalid(`The body is not valid JSON: ${reason}. Check what is sent.`, { cause })
}

function tooMuch(
  what: string,
  most: number,
  unit: string,
  limit: keyof JsonLimits,
  next: string,
): CatalogError {
  return invalid(
    `The body ${what} ${most.toLocaleString('en')} ${unit}, the most here (limits.${limit}). ${next}.`,
  )
}
