import { isUtf8 } from 'node:buffer'
import { type CatalogError, invalid } from '../../base/errors.ts'
import { maxHashed } from '../../base/model/utf8.ts'
import { TimeSlice } from '../../base/scheduling/time-slice.ts'
import type { Limits } from '../options.ts'

/*
 * `JSON.parse` cannot be interrupted, and takes seconds for some bodies of a few megabytes: a million keys in one
 * object, or nested arrays. So the bytes are scanned first for structures that take disproportionate time or memory. A
 * large body is then parsed member by member, in pieces of a few milliseconds each.
 */

/** The limits of a JSON body, or of another text. */
export interface JsonLimits
  extends Pick<Limits, 'jsonDepth' | 'jsonValues' | 'jsonMembers' | 'jsonTextBytes'> {
  /** What an error calls the text. Default: a body, whose limits are those of the server. */
  readonly text?: string
}

/** Bodies up to this size are parsed at once. Larger ones are parsed in pieces of about this size. */
const pieceBytes = 32 * 1024

/** The value of a JSON body; undefined for an empty one. A large body is parsed in time slices. */
export function parseJson(
  bytes: Buffer,
  limits: JsonLimits,
  piece = pieceBytes,
  parse: (text: string) => unknown = JSON.parse,
): unknown {
  if (bytes.length === 0) return undefined
  // Decoding would replace invalid bytes by another character, also in names.
  if (!isUtf8(bytes)) throw invalid(`${nameOf(limits)} is not valid UTF-8. Encode JSON in UTF-8.`)
  if (bytes.length > piece) return parseInPieces(bytes, limits, piece, parse)
  if (!isSmall(bytes.length, limits)) requireWithinLimits(bytes, limits)
  try {
    return parse(bytes.toString('utf8'))
  } catch (cause) {
    throw notJson(limits, reasonOf(cause), cause)
  }
}

/** Whether the body cannot exceed a limit, because everything that is counted takes at least one byte. */
function isSmall(length: number, { jsonDepth, jsonValues, jsonMembers, jsonTextBytes }: JsonLimits): boolean {
  return length <= jsonDepth && length <= jsonValues && length <= jsonMembers && length <= jsonTextBytes
}

function requireWithinLimits(bytes: Buffer, limits: JsonLimits): void {
  const parser = new JsonPieceParser(bytes, limits, Number.POSITIVE_INFINITY, JSON.parse)
  try {
    parser.scanTo(bytes.length)
  } catch (error) {
    // `JSON.parse` of the whole body has the better message.
    if (!(error instanceof SyntaxFault)) throw error
  }
}

async function parseInPieces(
  bytes: Buffer,
  limits: JsonLimits,
  piece: number,
  parse: (text: string) => unknown,
): Promise<unknown> {
  const timeSlice = new TimeSlice(undefined)
  const parser = new JsonPieceParser(bytes, limits, piece, parse)
  try {
    while (parser.at < bytes.length) {
      parser.scanTo(parser.at + piece)
      if (timeSlice.due) await timeSlice.rest()
    }
    return parser.value()
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error
    throw notJson(limits, `${error.message} near byte ${error.at.toLocaleString('en')}`, error)
  }
}

/** A syntax error at a byte offset. */
class SyntaxFault extends Error {
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

/** An object or array whose end was not scanned yet. */
class Container {
  isArray = false
  /** The offset of its opening bracket. */
  start = 0
  /** Members so far: keys of an object, or items of an array that are strings, objects or arrays. */
  members = 0
  /** The offset of the first member that was not parsed. */
  from = 0
  /** The offset of the current member. */
  memberFrom = 0
  /** The part that was parsed. Set once the container is known to be larger than a piece. */
  target: unknown[] | Record<string, unknown> | undefined
  /** The end of the current member, if that was parsed in pieces; otherwise negative. */
  memberEnd = -1
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a]

/** Most names in one body that are longer than V8 hashes by their content. */
const maxLongNames = 64
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Scans a body once, from start to end, and parses it piece by piece. */
class JsonPieceParser {
  /** The scan offset. */
  at = 0
  readonly #bytes: Buffer
  readonly #limits: JsonLimits
  readonly #piece: number
  readonly #parseText: (text: string) => unknown
  /** The open container of each depth. The objects are reused. */
  readonly #containers: Container[] = []
  #depth = 0
  #values = 1
  #longNames = 0
  #isInText = false
  /** The offset of the last bracket or comma. */
  #lastMark = 0
  #root: { readonly value: unknown; readonly end: number } | undefined

  constructor(bytes: Buffer, limits: JsonLimits, piece: number, parse: (text: string) => unknown) {
    this.#bytes = bytes
    this.#limits = limits
    this.#piece = piece
    this.#parseText = parse
  }

  /** Scans up to about this offset. */
  scanTo(to: number): void {
    const bytes = this.#bytes
    const end = Math.min(to, bytes.length)
    let at = this.at
    for (; at < end; at++) {
      const byte = bytes[at]!
      if (this.#isInText) {
        if (byte === backslash) at++
        else if (byte === quote) this.#isInText = false
      } else if (byte === quote) this.#openText()
      else if (byte === comma) this.#comma(at)
      else if (byte === colon) this.#countName(at)
      else if (byte === openArray || byte === openObject) this.#open(at, byte === openArray)
      else if (byte === closeArray || byte === closeObject) this.#close(at, byte === closeArray)
    }
    this.at = at
    this.#requireShort(at)
  }

  /** The value of the whole body, after the scan. */
  value(): unknown {
    if (this.#depth > 0 || this.#isInText) throw new SyntaxFault('Unexpected end', this.#bytes.length)
    const root = this.#root
    if (root === undefined) return this.#parse(0, this.#bytes.length, '', '')
    this.#requireBlank(root.end, this.#bytes.length)
    return root.value
  }

  #open(at: number, isArray: boolean): void {
    this.#mark(at)
    if (this.#depth === 0) {
      if (this.#root !== undefined) throw new SyntaxFault('A second value', at)
      this.#requireBlank(0, at)
    } else if (this.#containers[this.#depth]!.memberEnd >= 0) {
      throw new SyntaxFault('Expected a comma', at)
    }
    // A container has one more value than commas, unless it is empty.
    this.#countValue()
    this.#countItem()
    const { jsonDepth } = this.#limits
    if (++this.#depth > jsonDepth)
      throw tooMuch(this.#limits, 'nests deeper than', 'levels', 'jsonDepth', 'Flatten it')
    this.#containers[this.#depth] ??= new Container()
    const container = this.#containers[this.#depth]!
    container.isArray = isArray
    container.start = at
    // No comma follows the last member of an object, so the count starts at 1.
    container.members = isArray ? 0 : 1
    container.from = at + 1
    container.memberFrom = at + 1
    container.target = undefined
    container.memberEnd = -1
  }

  #comma(at: number): void {
    this.#mark(at)
    if (this.#depth === 0) throw new SyntaxFault("Unexpected ','", at)
    this.#countValue()
    const container = this.#containers[this.#depth]!
    if (!container.isArray) this.#countMember(container)
    if (container.memberEnd >= 0) {
      this.#requireBlank(container.memberEnd, at)
      container.memberEnd = -1
      container.from = at + 1
    } else if (at - container.from >= this.#piece) {
      this.#parseInPieces(this.#depth)
      this.#append(container, container.from, at)
      container.from = at + 1
    }
    container.memberFrom = at + 1
  }

  #close(at: number, isArray: boolean): void {
    this.#mark(at)
    if (this.#depth === 0) throw new SyntaxFault('Unexpected bracket', at)
    const container = this.#containers[this.#depth]!
    if (container.isArray !== isArray) throw new SyntaxFault('Unexpected bracket', at)
    const { target, start, from, memberEnd } = container
    if (memberEnd >= 0) this.#requireBlank(memberEnd, at)
    else if (target !== undefined) this.#append(container, from, at)
    this.#depth--
    if (this.#depth === 0) {
      const isParsed = target !== undefined || this.#piece === Number.POSITIVE_INFINITY
      this.#root = { value: isParsed ? target : this.#parse(start, at + 1, '', ''), end: at + 1 }
    } else if (target !== undefined) this.#containers[this.#depth]!.memberEnd = at + 1
  }

  /** Parses a container and its ancestors in pieces from now on. */
  #parseInPieces(depth: number): void {
    const container = this.#containers[depth]!
    if (container.target !== undefined) return
    const target: Container['target'] = container.isArray ? [] : {}
    container.target = target
    if (depth === 1) return
    this.#parseInPieces(depth - 1)
    const parent = this.#containers[depth - 1]!
    const { from, memberFrom } = parent
    if (memberFrom > from) this.#append(parent, from, memberFrom - 1)
    parent.from = memberFrom
    if (Array.isArray(parent.target)) {
      this.#requireBlank(memberFrom, container.start)
      parent.target.push(target)
    } else {
      const [key] = Object.keys(this.#parse(memberFrom, container.start, '{', '0}') as object)
      setMember(parent.target!, key!, target)
    }
  }

  /** Parses one or more members, and appends them to the target. */
  #append({ target }: Container, from: number, to: number): void {
    if (Array.isArray(target)) {
      const items = this.#parse(from, to, '[', ']') as unknown[]
      if (items.length === 0) throw new SyntaxFault('Expected a value', to)
      for (const item of items) target.push(item)
    } else {
      const members = this.#parse(from, to, '{', '}') as Record<string, unknown>
      const keys = Object.keys(members)
      if (keys.length === 0) throw new SyntaxFault('Expected a key', to)
      for (const key of keys) setMember(target!, key, members[key])
    }
  }

  #parse(from: number, to: number, before: string, after: string): unknown {
    try {
      return this.#parseText(before + this.#bytes.toString('utf8', from, to) + after)
    } catch (error) {
      throw new SyntaxFault(reasonOf(error).replace(/ (?:in JSON )?at position \d+.*/s, ''), from)
    }
  }

  #openText(): void {
    this.#isInText = true
    this.#countItem()
  }

  /** Counts an array item. Numbers are not counted, because vectors have many, and checking them is cheap. */
  #countItem(): void {
    const container = this.#depth === 0 ? undefined : this.#containers[this.#depth]!
    if (container?.isArray === true) this.#countMember(container)
  }

  #countMember(container: Container): void {
    const { jsonMembers } = this.#limits
    if (++container.members <= jsonMembers) return
    const what = container.isArray ? 'has a list of more than' : 'has an object of more than'
    throw tooMuch(this.#limits, what, 'members', 'jsonMembers', 'Send fewer at a time')
  }

  /** Counts the name before a colon, if it is long. */
  #countName(at: number): void {
    if (at - this.#lastMark <= maxHashed || ++this.#longNames <= maxLongNames) return
    const names = `${maxLongNames} names of more than ${maxHashed.toLocaleString('en')} bytes`
    throw invalid(`${nameOf(this.#limits)} has more than ${names}. Use shorter names.`)
  }

  #countValue(): void {
    const { jsonValues } = this.#limits
    if (++this.#values > jsonValues)
      throw tooMuch(this.#limits, 'has more than', 'values', 'jsonValues', 'Send less at a time')
  }

  #mark(at: number): void {
    this.#requireShort(at)
    this.#lastMark = at
  }

  #requireShort(at: number): void {
    const { jsonTextBytes } = this.#limits
    if (at - this.#lastMark - 1 > jsonTextBytes)
      throw tooMuch(
        this.#limits,
        'has a member of more than',
        'bytes',
        'jsonTextBytes',
        'Send a shorter text',
      )
  }

  #requireBlank(from: number, to: number): void {
    for (let at = from; at < to; at++) {
      const byte = this.#bytes[at]!
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)
        throw new SyntaxFault('Expected a comma or a bracket', at)
    }
  }
}

/** Sets a member as `JSON.parse` does. `__proto__` becomes an ordinary member. */
function setMember(target: object, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else (target as Record<string, unknown>)[key] = value
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message.slice(0, 200) : ''
}

function nameOf({ text = 'The body' }: JsonLimits): string {
  return text
}

function notJson(limits: JsonLimits, reason: string, cause: unknown): CatalogError {
  return invalid(`${nameOf(limits)} is not valid JSON: ${reason}. Check what is sent.`, { cause })
}

function tooMuch(
  limits: JsonLimits,
  what: string,
  unit: string,
  limit: 'jsonDepth' | 'jsonValues' | 'jsonMembers' | 'jsonTextBytes',
  next: string,
): CatalogError {
  const fact = `${nameOf(limits)} ${what} ${limits[limit].toLocaleString('en')} ${unit}, the most here`
  return invalid(limits.text === undefined ? `${fact} (limits.${limit}). ${next}.` : `${fact}.`)
}
