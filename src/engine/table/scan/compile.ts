import { type DataType, type Field, type Schema, Type } from '@uwdata/flechette'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { Predicate, ValueExpression } from '../../predicate/index.ts'
import type { ByteCache } from '../storage/cache.ts'
import { walk } from './evaluate.ts'
import { bindingSchema } from './row-columns.ts'

/*
 * Compiled texts are kept in the cache of their storage, by the columns that they were bound to. Counting a table of
 * 1,000 rows takes half the time with a kept predicate.
 */

/** The work that a text is compiled for. Kept texts lie in its cache. */
export interface Compiling extends TimeSlice {
  readonly storage: { readonly cache: ByteCache }
}

/** Most characters of a text that is kept. */
const maxText = 1_024
/** About the most bytes that a text takes for each of its characters when it is compiled; short ones take more. */
const bytesPerCharacter = 2_000
const leastBytes = 8_000

const numbers = new WeakMap<object, number>()
let objects = 0

/** The number of an object, for keys. */
function numberOf(object: object): number {
  let number = numbers.get(object)
  if (number === undefined) {
    number = objects++
    numbers.set(object, number)
  }
  return number
}

/** A key for what was made of a text and the columns of a schema. It is no path of an object. */
export function keyOfMade(kind: string, { fields }: Pick<Schema, 'fields'>, text: string): string {
  return `\0${kind} ${numberOf(fields)} ${text}`
}

/**
 * Compiles a predicate for the given time, and yields when it is due. Loads the predicate language when first called.
 */
export async function compile(text: string, schema: Schema, now: number, job: Compiling): Promise<Predicate> {
  const key = keyOfMade('where', schema, text)
  const known = job.storage.cache.made<Predicate>(key)
  if (known !== undefined) return known
  const { compileSteps } = await predicateLanguage()
  const made = await walk(compileSteps(text, bindingSchema(schema, text), now), job)
  if (isLasting(made, schema)) job.storage.cache.keepMade(key, made, bytesOfCompiled(text))
  return made
}

/** Compiles a value expression for the given time, and yields when it is due. `target`: as for an assignment to it. */
export async function compileValues(
  text: string,
  schema: Schema,
  now: number,
  job: Compiling,
  target?: Field,
): Promise<ValueExpression> {
  const kind = target === undefined ? 'value' : `value of ${numberOf(target)}`
  const key = keyOfMade(kind, schema, text)
  const known = job.storage.cache.made<ValueExpression>(key)
  if (known !== undefined) return known
  const { compileExpressionSteps } = await predicateLanguage()
  const made = await walk(compileExpressionSteps(text, bindingSchema(schema, text), now, target), job)
  if (isLasting(made, schema)) job.storage.cache.keepMade(key, made, bytesOfCompiled(text))
  return made
}

/** Whether something compiled may be used again: at any time, and without results that it remembers meanwhile. */
export function isLasting(
  { text, now, columns }: Pick<Predicate | ValueExpression, 'text' | 'now' | 'columns'>,
  { fields }: Pick<Schema, 'fields'>,
): boolean {
  // Texts on dictionaries remember a result for each entry.
  return now === undefined && text.length <= maxText && !columns.some((i) => hasEntries(fields[i]?.type))
}

/** About how many bytes a compiled text takes. */
export function bytesOfCompiled(text: string): number {
  return leastBytes + text.length * bytesPerCharacter
}

/** Whether a type has a dictionary or runs in it. Columns that the schema lacks have neither. */
function hasEntries(type: DataType | undefined): boolean {
  if (type === undefined) return false
  if (type.typeId === Type.Dictionary || type.typeId === Type.RunEndEncoded) return true
  return 'children' in type && type.children.some((child: Field) => hasEntries(child.type))
}

type Language = typeof import('../../predicate/index.ts')

let language: Language | undefined

/** The predicate language. Importing what is loaded takes as long as compiling a short text. */
async function predicateLanguage(): Promise<Language> {
  language ??= await import('../../predicate/index.ts')
  return language
}
