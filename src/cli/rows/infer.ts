import { UsageError } from '../usage.ts'
import { isObject } from './convert.ts'
import { Fraction, type JsonField, type JsonType } from './json.ts'
import { parseDate, parseTimestamp } from './time.ts'

/** What errors and remarks about types need. */
export interface Source {
  readonly isCsv: boolean
  /** Describes where a row is, such as `line 3 of flights.csv`. */
  readonly label: (at: number) => string
  /** Reports a remark to the user. */
  readonly note: (text: string) => void
}

type Kind =
  | 'a whole number'
  | 'a number'
  | 'a boolean'
  | 'a date'
  | 'a time'
  | 'a time in nanoseconds'
  | 'a time with a zone'
  | 'a time with a zone in nanoseconds'
  | 'text'
  | 'a list'
  | 'an object'

/** The type of a column that has values of these kinds only. */
const types: readonly (readonly [kinds: readonly Kind[], type: string])[] = [
  [['a whole number'], 'int64'],
  [['a whole number', 'a number'], 'double'],
  [['a boolean'], 'bool'],
  [['a date'], 'date32:day'],
  [['a time'], 'timestamp:us:-'],
  [['a time', 'a time in nanoseconds'], 'timestamp:ns:-'],
  [['a time with a zone'], 'timestamp:us:UTC'],
  [['a time with a zone', 'a time with a zone in nanoseconds'], 'timestamp:ns:UTC'],
]

/** Kinds that JSON writes as strings. */
const stringKinds: ReadonlySet<Kind> = new Set<Kind>([
  'a date',
  'a time',
  'a time in nanoseconds',
  'a time with a zone',
  'a time with a zone in nanoseconds',
  'text',
])

/** Infers the type of a column or nested field from its values, added one by one. It keeps none of them. */
export class TypeInference {
  readonly #isCsv: boolean
  readonly #names: ReadonlySet<string> | undefined
  /** The kinds of values, each with the place of the first row that has it. */
  readonly #kinds = new Map<Kind, number>()
  readonly #fields = new Map<string, TypeInference>()
  #items: TypeInference | undefined

  /** With names, other fields are left out. */
  constructor(isCsv: boolean, names?: ReadonlySet<string>) {
    this.#isCsv = isCsv
    this.#names = names
  }

  /** Adds the members of an object, each to the field with its name. */
  addFields(object: Readonly<Record<string, unknown>>, at: number): void {
    for (const name of Object.keys(object)) {
      if (this.#names?.has(name) === false) continue
      let field = this.#fields.get(name)
      if (field === undefined) {
        field = new TypeInference(this.#isCsv)
        this.#fields.set(name, field)
      }
      field.#add(object[name], at)
    }
  }

  /** The fields of the objects, in the order of first occurrence, each with the common type of its values. */
  fields(source: Source, path = ''): JsonField[] {
    return Array.from(this.#fields, ([name, field]) => ({
      name,
      nullable: true,
      type: field.#type(source, path + name),
    }))
  }

  #add(value: unknown, at: number): void {
    if (value === null || value === undefined) return
    // One text makes the whole CSV column text.
    if (this.#isCsv && this.#kinds.has('text')) return
    const kind = this.#isCsv ? kindOfField(value as string) : kindOfJson(value)
    if (!this.#kinds.has(kind)) this.#kinds.set(kind, at)
    if (kind === 'an object') this.addFields(value as Readonly<Record<string, unknown>>, at)
    if (kind !== 'a list') return
    this.#items ??= new TypeInference(this.#isCsv)
    for (const item of value as readonly unknown[]) this.#items.#add(item, at)
  }

  #type(source: Source, path: string): JsonType {
    const kinds = this.#kinds
    const [[first, at] = [undefined, 0], ...others] = kinds
    if (first === undefined) return { type: 'null' }
    const found = types.find(([together]) => [...kinds.keys()].every((kind) => together.includes(kind)))
    if (found) return { type: found[1] }
    if (source.isCsv || [...kinds.keys()].every((kind) => stringKinds.has(kind))) {
      noteTextColumn(kinds, source, path)
      return { type: 'string' }
    }
    if (others.length > 0) {
      const [other, otherAt] = others.find(([kind]) => !(stringKinds.has(kind) && stringKinds.has(first)))!
      throw new UsageError(
        `${source.label(otherAt)}: column ${JSON.stringify(path)} holds ${shown(other)}, and ${source.label(at).replace(/ of .*/, '')} ${shown(first)}. Make them the same, or choose the column's type with --schema`,
      )
    }
    if (first === 'an object') return { type: 'struct', fields: this.fields(source, `${path}.`) }
    const type = this.#items!.#type(source, `${path}.item`)
    return { type: 'list', fields: [{ name: 'item', nullable: true, type }] }
  }
}

/** Kinds that a user seldom means as text. */
const seldomText: ReadonlySet<Kind> = new Set<Kind>([...stringKinds, 'a boolean'])

/** Reports why a column became text although its values look like other types. */
function noteTextColumn(kinds: ReadonlyMap<Kind, number>, { label, note }: Source, path: string): void {
  const [one, other] = [...kinds]
  if (one === undefined || other === undefined) return
  const looksAlike = [...kinds.keys()].every((kind) => kind === 'text' || !seldomText.has(kind))
  if (kinds.has('text') && looksAlike) return
  note(
    `column ${JSON.stringify(path)} is text: it holds ${one[0]} (${label(one[1])}) and ${other[0]} (${label(other[1])}). Make them the same, or choose the column's type with --schema`,
  )
}

function shown(kind: Kind): Kind {
  return stringKinds.has(kind) ? 'text' : kind
}

const whole = /^(?:0|-?[1-9]\d*)$/
const number = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,4})?|NaN|-?Infinity)$/

/** Case-insensitive: spreadsheets write TRUE, and Python writes True. */
const boolean = /^(?:true|false)$/i

function kindOfField(field: string): Kind {
  if (whole.test(field)) return 'a whole number'
  if (number.test(field)) return 'a number'
  return boolean.test(field) ? 'a boolean' : kindOfText(field)
}

function kindOfText(text: string): Kind {
  // A quick check of the first characters excludes most texts.
  if (!/^[+-]?\d{4}/.test(text)) return 'text'
  if (parseDate(text) !== undefined) return 'a date'
  const instant = parseTimestamp(text)
  if (instant === undefined) return 'text'
  const kind = instant.hasZone ? 'a time with a zone' : 'a time'
  return instant.nanos % 1_000n === 0n ? kind : `${kind} in nanoseconds`
}

function kindOfJson(value: unknown): Kind {
  if (typeof value === 'number' || typeof value === 'bigint') return 'a whole number'
  if (value instanceof Fraction) return 'a number'
  if (typeof value === 'boolean') return 'a boolean'
  if (typeof value === 'string') return kindOfText(value)
  return isObject(value) ? 'an object' : 'a list'
}
