import * as v from 'valibot'
import { identifierProblem, maxDepth, maxNameBytes, nameProblem, quote } from './identifier.ts'
import { momentOf } from './moment.ts'
import { utf8Length } from './utf8.ts'

/*
 * The fields that requests and responses share. A schema checks a value on entry, and gives its type. Messages are
 * fragments that follow the field's name: "version must be …". Where a check is a function, `v.metadata` says as much of
 * it as JSON Schema can, for /openapi.json.
 */

/** The limits for input, unless an operation has its own. */
export const limits = {
  /** Entries of a map of properties or metadata. */
  entries: 1_000,
  /** Bytes of all keys and values of such a map. */
  entryBytes: 65_536,
  /** Names in one page of a listing, at most. */
  page: 10_000,
  /** Names in one page when the request sets no limit. */
  defaultPage: 1_000,
  /** Operations in one batch. */
  batch: 10_000,
  locationCharacters: 1_024,
} as const

export const text = v.string('must be a string')
export const filledText = v.pipe(text, v.nonEmpty('must not be empty'))
export const flag = v.boolean('must be true or false')

const segments = fastStringList(
  v.array(v.string('must be a string'), 'must be a list of names, such as ["prod", "flights"]'),
)

type StringArray = v.ArraySchema<v.StringSchema<string>, string>

/**
 * The same schema with a fast path, which copies a valid list into an array of the right length. An array that grows
 * item by item reserves room for a dozen more. A batch keeps all of its requests until it ends, so this saves 250 bytes
 * for each.
 */
export function fastStringList(schema: StringArray): StringArray {
  const run: StringArray['~run'] = (dataset, config) => {
    const copy = copyOfStrings(dataset.value)
    return copy === undefined ? schema['~run'](dataset, config) : { typed: true, value: copy }
  }
  return { ...schema, '~run': run }
}

function copyOfStrings(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined
  const copy = new Array<string>(value.length)
  for (let i = 0; i < copy.length; i++) {
    const item: unknown = value[i]
    if (typeof item !== 'string') return undefined
    copy[i] = item
  }
  return copy
}

/** The same schema of a map, with the keys `__proto__`, `prototype` and `constructor`. Valibot drops them silently. */
export function withAnyKey<S extends v.GenericSchema<Record<string, T>>, T>(
  schema: S & { value: v.GenericSchema<T> },
): S {
  const run: S['~run'] = (dataset, config) => {
    const given = dataset.value
    const checked = schema['~run'](dataset, config)
    if (!checked.typed || typeof given !== 'object' || given === null) return checked
    for (const key of leftOut) {
      if (!Object.hasOwn(given, key)) continue
      const value = (given as Readonly<Record<string, unknown>>)[key]
      const item = schema.value['~run']({ value }, config)
      if (item.issues) {
        const pathItem = { type: 'object', origin: 'value', input: given, key, value } as const
        const issues = item.issues.map((issue) => ({ ...issue, path: [pathItem, ...(issue.path ?? [])] }))
        return { typed: false, value: checked.value, issues } as never
      }
      Object.defineProperty(checked.value, key, {
        value: item.value,
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
    return checked
  }
  return { ...schema, '~run': run }
}

const leftOut = ['__proto__', 'prototype', 'constructor']

/** A name, as far as JSON Schema can say it: control characters and the default delimiter are refused. */
const shownName = {
  type: 'string',
  minLength: 1,
  maxLength: maxNameBytes,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f$]+$',
}

/** A namespace's or an object's identifier; the empty list is the root. */
export const identifier = v.pipe(
  segments,
  v.rawCheck(({ dataset, addIssue }) => {
    const problem = dataset.typed ? identifierProblem(dataset.value) : undefined
    if (problem) addIssue({ message: problem })
  }),
  v.metadata({ items: shownName, maxItems: maxDepth }),
)

/** A table's identifier: at least its name. */
export const tableIdentifier = v.pipe(
  identifier,
  v.minLength(
    1,
    'is empty, which is the root namespace; give the table\'s names, such as ["prod", "flights"]',
  ),
)

export const name = v.pipe(
  text,
  v.rawCheck(({ dataset, addIssue }) => {
    const problem = dataset.typed ? nameProblem(dataset.value) : undefined
    if (problem) addIssue({ message: problem })
  }),
  v.metadata(shownName),
)

/** A whole number from 0 to 2^53 − 1. */
export const version = v.pipe(
  v.number('must be a whole number from 0 to 2^53 − 1'),
  v.safeInteger('must be a whole number from 0 to 2^53 − 1'),
  v.minValue(0, 'must be a whole number from 0 to 2^53 − 1'),
)

/** The most items in a response. */
export const limit = version

export const pageToken = v.nullish(text)

/** The token of the next page, in responses. */
export const nextPageToken = v.optional(text)

const branchPattern = /^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/
const tagPattern = /^[A-Za-z0-9._-]+$/

/** A branch. Absent, null, `''` and `main` mean the main branch, which becomes `''`. */
export const branch = v.optional(
  v.pipe(
    v.nullish(text),
    v.metadata({ anyOf: [{ type: 'string', maxLength: 255 }, { type: 'null' }] }),
    v.transform((given) => (given === undefined || given === null || given === 'main' ? '' : given)),
    v.check((given) => given.length <= 255, 'must be at most 255 characters long'),
  ),
  '',
)

/** A time: ISO 8601 with a zone, or a `Date`. It becomes text in UTC, which a client sends on. */
export const moment = v.pipe(
  v.custom<string | Date>(
    (given) => momentIn(given) !== undefined,
    'must be a time with its zone, such as "2026-11-01T00:00:00Z", or a Date',
  ),
  v.transform((given) => momentIn(given)!.toISOString()),
  v.metadata({ type: 'string', format: 'date-time' }),
)

function momentIn(given: unknown): Date | undefined {
  if (typeof given === 'string') return momentOf(given)
  return given instanceof Date && !Number.isNaN(given.getTime()) ? given : undefined
}

/** The version of a table: by its number, a tag or a time, or else the latest of a branch. */
export const wantedFields = {
  version: v.nullish(version),
  tag: v.nullish(text),
  at: v.nullish(moment),
  branch,
}

/** The version that a tag is to name: by its number or a time. */
export const targetFields = { version: v.nullish(version), at: v.nullish(moment), branch }

export const newBranch = v.pipe(
  text,
  v.check(
    (given) => given !== '' && given !== 'main',
    'names the main branch, which always exists; choose another name',
  ),
  v.check(
    (given) =>
      given.length <= 255 &&
      branchPattern.test(given) &&
      !given.split('/').some((s) => s === '.' || s === '..'),
    'must be 1 to 255 letters, digits, ".", "-", "_" or "/" between them',
  ),
  v.metadata({ minLength: 1, maxLength: 255, pattern: branchPattern.source }),
)

export const newTag = v.pipe(
  text,
  v.check(
    (given) => given.length <= 255 && tagPattern.test(given) && given !== '.' && given !== '..',
    'must be 1 to 255 letters, digits, ".", "-" or "_"',
  ),
  v.metadata({ minLength: 1, maxLength: 255, pattern: tagPattern.source }),
)

/** A map of string to string, within the limits for properties and metadata. */
export const stringMap = v.pipe(
  v.custom<Readonly<Record<string, string>>>(isStringMap, ({ input }) => notStringMap(input)),
  v.rawCheck(({ dataset, addIssue }) => {
    const problem = dataset.typed ? mapProblem(dataset.value) : undefined
    if (problem) addIssue({ message: problem })
  }),
  v.metadata({ type: 'object', additionalProperties: { type: 'string' }, maxProperties: limits.entries }),
)

function isStringMap(value: unknown): boolean {
  if (!isMap(value)) return false
  for (const key of Object.keys(value)) if (typeof value[key] !== 'string') return false
  return true
}

/** What is wrong with a value that is no map of strings. */
function notStringMap(value: unknown): string {
  const should = 'must be an object whose values are strings'
  const bad = isMap(value) && Object.keys(value).find((key) => typeof value[key] !== 'string')
  return typeof bad === 'string' ? `${should}; that of ${quote(bad)} is none` : should
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function mapProblem(map: Readonly<Record<string, string>>): string | undefined {
  const keys = Object.keys(map)
  if (keys.length > limits.entries) return `has ${keys.length} entries; ${limits.entries} are the most`
  let bytes = 0
  for (const key of keys) {
    if (!key.isWellFormed() || !map[key]!.isWellFormed())
      return 'holds half of a surrogate pair; give well-formed Unicode'
    bytes += utf8Length(key) + utf8Length(map[key]!)
  }
  if (bytes > limits.entryBytes) {
    return `is ${bytes.toLocaleString('en')} bytes long in all; ${limits.entryBytes.toLocaleString('en')} are the most`
  }
  return undefined
}

/** One of a few words. Input may be in any case, in PascalCase or snake_case; output is as listed here. */
export function choice<const T extends string>(...words: readonly [T, ...T[]]) {
  const byKey = new Map(words.map((word) => [caseKey(word), word]))
  const message = `must be ${words.slice(0, -1).join(', ')}${words.length > 1 ? ' or ' : ''}${words.at(-1)}`
  const schema = v.pipe(
    v.string(message) as v.GenericSchema<T | (string & {}), string>,
    v.description('In any case, PascalCase or snake_case.'),
    v.metadata({ enum: words }),
    v.rawTransform(({ dataset, addIssue, NEVER }): T => {
      const word = byKey.get(caseKey(dataset.value))
      if (word === undefined) {
        addIssue({ message })
        return NEVER
      }
      return word
    }),
  )
  return { ...schema, words }
}

/** One of several schemas, chosen by the value. */
export function either<const S extends v.GenericSchema>(
  schemas: readonly S[],
  choose: (given: unknown) => S,
) {
  return { ...v.lazy(choose), alternatives: schemas }
}

/** Equal for all spellings of a word. */
export function caseKey(word: string): string {
  return word.replaceAll('_', '').toLowerCase()
}

export interface Identity {
  readonly api_key?: string
  readonly auth_token?: string
}

/** The caller's identity as the request body claims it. The `authorize` hook gets it; it does not authenticate. */
const identity = v.pipe(
  v.object(
    { api_key: v.nullish(text), auth_token: v.nullish(text) },
    'must be an object with api_key or auth_token',
  ),
  v.transform(
    ({ api_key, auth_token }): Identity => ({
      ...(api_key != null && { api_key }),
      ...(auth_token != null && { auth_token }),
    }),
  ),
)

/** Free-form entries between the caller and the implementation. */
const context = stringMap

/** The fields of every request. In all optional fields, null counts as absent. */
export const requestFields = {
  identity: v.nullish(identity),
  context: v.nullish(context),
}

/** The fields of every response. */
export const responseFields = { context: v.optional(context) }

/** The fields of every response to a change. */
export const changeFields = { ...responseFields, transaction_id: v.optional(text) }

/** A version of a table in responses. */
export const tableVersion = v.object({
  version,
  manifest_path: text,
  manifest_size: v.optional(v.number()),
  e_tag: v.optional(text),
  timestamp_millis: v.optional(v.number()),
  metadata: v.optional(stringMap),
})

export type TableVersion = v.InferOutput<typeof tableVersion>
