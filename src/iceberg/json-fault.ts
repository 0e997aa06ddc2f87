const blank = /[ \t\n\r]*/y
const escaped = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** What may come next. `…OrEnd` is what follows an opening bracket. */
type Next = 'value' | 'valueOrEnd' | 'name' | 'nameOrEnd' | 'colon' | 'comma' | 'nothing'

/**
 * Where a text stops being JSON, in words for an error: `at position 5 (line 1, column 6): …`.
 *
 * The messages of `JSON.parse` differ between runtimes, and some have no position. So this reads the text once
 * more, after `JSON.parse` refused it.
 */
export function placeOfFault(text: string): string {
  const { at, expected } = new Reader(text).fault()
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - before.lastIndexOf('\n')
  return `at position ${at} (line ${line}, column ${column}): expected ${expected}, found ${foundAt(text, at)}`
}

function foundAt(text: string, at: number): string {
  const point = text.codePointAt(at)
  return point === undefined ? 'the end' : JSON.stringify(String.fromCodePoint(point))
}

/** Stops the reader. */
class Fault {
  readonly at: number
  readonly expected: string

  constructor(at: number, expected: string) {
    this.at = at
    this.expected = expected
  }
}

class Reader {
  readonly #text: string
  /** The bracket that ends each open container. */
  readonly #open: string[] = []
  #at = 0
  #next: Next = 'value'

  constructor(text: string) {
    this.#text = text
  }

  fault(): Fault {
    try {
      for (;;) {
        this.#skip(blank)
        if (this.#next === 'nothing' && this.#at === this.#text.length) break
        this.#step(this.#text.charAt(this.#at))
      }
    } catch (fault) {
      if (fault instanceof Fault) return fault
      throw fault
    }
    return new Fault(this.#at, 'what this runtime reads')
  }

  /** Reads one token, whose first character is given. */
  #step(first: string): void {
    switch (this.#next) {
      case 'colon':
        if (first !== ':') throw new Fault(this.#at, 'a colon')
        this.#take('value')
        break
      case 'comma':
        this.#commaOrEnd(first)
        break
      case 'name':
      case 'nameOrEnd':
        if (first === '"') this.#string('colon')
        else if (first === '}' && this.#next === 'nameOrEnd') this.#close()
        else throw new Fault(this.#at, this.#next === 'name' ? 'a name in quotes' : 'a name in quotes or "}"')
        break
      case 'nothing':
        throw new Fault(this.#at, 'the end')
      default:
        if (first === ']' && this.#next === 'valueOrEnd') this.#close()
        else this.#value(first)
    }
  }

  #value(first: string): void {
    if (first === '"') this.#string(this.#after())
    else if (first === '{') this.#openUntil('}', 'nameOrEnd')
    else if (first === '[') this.#openUntil(']', 'valueOrEnd')
    else if (this.#skip(scalar)) this.#next = this.#after()
    else throw new Fault(this.#at, 'a value')
  }

  #commaOrEnd(first: string): void {
    const end = this.#open.at(-1)!
    if (first === ',') this.#take(end === '}' ? 'name' : 'value')
    else if (first === end) this.#close()
    else throw new Fault(this.#at, `a comma or "${end}"`)
  }

  #openUntil(end: string, next: Next): void {
    this.#open.push(end)
    this.#take(next)
  }

  #close(): void {
    this.#open.pop()
    this.#take(this.#after())
  }

  #take(next: Next): void {
    this.#at++
    this.#next = next
  }

  #after(): Next {
    return this.#open.length === 0 ? 'nothing' : 'comma'
  }

  #string(next: Next): void {
    this.#at++
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code === 0x22) break
      if (Number.isNaN(code)) throw new Fault(this.#at, 'the end of a string')
      if (code < 0x20) throw new Fault(this.#at, 'an escape for a control character')
      if (code !== 0x5c) this.#at++
      else if (!this.#skip(escaped)) throw new Fault(this.#at, 'an escape such as \\n or \\u00e9')
    }
    this.#take(next)
  }

  /** Moves past a match that begins here, and says whether there was one. */
  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    if (!pattern.test(this.#text)) return false
    this.#at = pattern.lastIndex
    return true
  }
}
