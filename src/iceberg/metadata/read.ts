import type { Steps } from '../../base/scheduling/time-slice.ts'
import { badRequest, illegalArgument } from '../errors.ts'
import { toLong } from './long.ts'
import type { JsonObject, Long } from './types.ts'

/*
 * Readers of members of parsed JSON. Their errors are worded as those of the reference implementation, with the path of
 * the member: "Cannot parse missing long: updates[0].snapshot.snapshot-id".
 */

/** How deep values may be nested. */
export const maxDepth = 100

/** A value for a message, cut where it is long. */
export function show(value: unknown): string {
  let text: string
  if (typeof value === 'string') text = JSON.stringify(value.slice(0, 101))
  else if (Array.isArray(value)) text = `an array of ${value.length}`
  else if (typeof value === 'object' && value !== null) text = 'an object'
  else text = String(value)
  return text.length > 100 ? `${text.slice(0, 97)}…` : text
}

/** Refuses what is no JSON, or is nested deeper than writers and readers can follow. */
export function checkJson(value: unknown, where: string, depth = 0): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return
    case 'number':
      if (Number.isFinite(value)) return
      break
    case 'object':
      if (value === null) return
      if (depth === maxDepth) throw badRequest(`Cannot parse values nested deeper than ${maxDepth}: ${where}`)
      for (const inner of Array.isArray(value) ? value : Object.values(value))
        checkJson(inner, where, depth + 1)
      return
  }
  throw badRequest(`Cannot parse a value that is not JSON: ${where}`)
}

/** As {@link checkJson} for the members of an object, and the items of those that are lists, in steps. */
export function* checkLongJson(object: JsonObject, where: string): Steps<void> {
  let checked = 0
  for (const value of Object.values(object)) {
    if (!Array.isArray(value)) {
      checkJson(value, where, 1)
      continue
    }
    for (const item of value) {
      checkJson(item, where, 2)
      if (++checked % itemsInAStep === 0) yield
    }
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function readObject(value: unknown, where: string): JsonObject {
  if (!isObject(value)) throw illegalArgument(`Cannot parse an object from ${show(value)}: ${where}`)
  return value
}

export function readArray(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) throw illegalArgument(`Cannot parse JSON array from ${show(value)}: ${where}`)
  return value
}

/** The member of an object, and undefined where it is absent or null. Only own members count, also `__proto__`. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined
}

/** The member of an object that must be there. `kind` is what a message calls its values. */
function needed(object: JsonObject, name: string, where: string, kind: string): unknown {
  if (!Object.hasOwn(object, name)) throw illegalArgument(`Cannot parse missing ${kind}: ${where}.${name}`)
  return object[name]
}

function wrong(kind: string, name: string, where: string, value: unknown): Error {
  return illegalArgument(`Cannot parse to ${kind} value: ${where}.${name}: ${show(value)}`)
}

export function isInt(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value === (value | 0)
}

export function readInt(object: JsonObject, name: string, where: string): number {
  const value = needed(object, name, where, 'int')
  if (!isInt(value)) throw wrong('an integer', name, where, value)
  return value + 0
}

export function readOptionalInt(object: JsonObject, name: string, where: string): number | undefined {
  return member(object, name) === undefined ? undefined : readInt(object, name, where)
}

export function readLong(object: JsonObject, name: string, where: string): Long {
  const value = needed(object, name, where, 'long')
  const long = toLong(value)
  if (long === undefined) throw wrong('a long', name, where, value)
  return long
}

export function readOptionalLong(object: JsonObject, name: string, where: string): Long | undefined {
  return member(object, name) === undefined ? undefined : readLong(object, name, where)
}

export function readString(object: JsonObject, name: string, where: string): string {
  const value = needed(object, name, where, 'string')
  if (typeof value !== 'string') throw wrong('a string', name, where, value)
  return value
}

export function readOptionalString(object: JsonObject, name: string, where: string): string | undefined {
  return member(object, name) === undefined ? undefined : readString(object, name, where)
}

export function readBoolean(object: JsonObject, name: string, where: string): boolean {
  const value = needed(object, name, where, 'boolean')
  if (typeof value !== 'boolean') throw wrong('a boolean', name, where, value)
  return value
}

/** A list of a member, each item read by `item`. */
export function readList<T>(
  object: JsonObject,
  name: string,
  where: string,
  item: (value: unknown, where: string) => T,
): T[] {
  const at = `${where}.${name}`
  const values = readArray(needed(object, name, where, 'list'), at)
  const items = new Array<T>(values.length)
  for (let i = 0; i < items.length; i++) items[i] = item(values[i], `${at}[${i}]`)
  return items
}

/** The list of a member, and an empty one where it is absent or null. */
export function readOptionalList<T>(
  object: JsonObject,
  name: string,
  where: string,
  item: (value: unknown, where: string) => T,
): T[] {
  return member(object, name) === undefined ? [] : readList(object, name, where, item)
}

/** After so many items of a list its reader may rest. */
const itemsInAStep = 64

/** As {@link readList}, in steps. Where the items are those of the member, the list is the member itself. */
export function* readLongList<T>(
  object: JsonObject,
  name: string,
  where: string,
  item: (value: unknown, where: string) => T,
): Steps<readonly T[]> {
  const at = `${where}.${name}`
  const values = readArray(needed(object, name, where, 'list'), at)
  const items = new Array<T>(values.length)
  for (let i = 0; i < items.length; i++) {
    items[i] = item(values[i], `${at}[${i}]`)
    if (i % itemsInAStep === itemsInAStep - 1) yield
  }
  return sameItems(values, items)
}

export function stringItem(value: unknown, where: string): string {
  if (typeof value !== 'string')
    throw illegalArgument(`Cannot parse string from non-text value in ${where}: ${show(value)}`)
  return value
}

export function intItem(value: unknown, where: string): number {
  if (!isInt(value))
    throw illegalArgument(`Cannot parse integer from non-int value in ${where}: ${show(value)}`)
  return value + 0
}

export function longItem(value: unknown, where: string): Long {
  const long = toLong(value)
  if (long === undefined)
    throw illegalArgument(`Cannot parse long from non-long value in ${where}: ${show(value)}`)
  return long
}

/** A map of strings, as it is. */
export function readStringMap(
  object: JsonObject,
  name: string,
  where: string,
): Readonly<Record<string, string>> {
  const value = needed(object, name, where, 'map')
  if (!isObject(value))
    throw illegalArgument(`Cannot parse string map from non-object value: ${where}.${name}: ${show(value)}`)
  for (const key of Object.keys(value)) readString(value, key, `${where}.${name}`)
  return value as Readonly<Record<string, string>>
}

export function readOptionalStringMap(
  object: JsonObject,
  name: string,
  where: string,
): Readonly<Record<string, string>> | undefined {
  return member(object, name) === undefined ? undefined : readStringMap(object, name, where)
}

/** The same object where its members have these values, and else a copy with them. Undefined leaves a member out. */
export function withMembers<T extends JsonObject>(object: JsonObject, values: JsonObject): T {
  const names = Object.keys(values)
  if (names.every((name) => sameMember(object, name, values[name]))) return object as T
  const copy: Record<string, unknown> = { ...object }
  for (const name of names) {
    if (values[name] === undefined) delete copy[name]
    else copy[name] = values[name]
  }
  return copy as T
}

function sameMember(object: JsonObject, name: string, value: unknown): boolean {
  if (value === undefined) return !Object.hasOwn(object, name)
  return Object.hasOwn(object, name) && Object.is(object[name], value)
}

/**
 * The same object with these 64-bit integers in their one form, and a copy where they had another. Those that are not in
 * `needed` may be absent or null.
 */
export function withLongs(
  object: JsonObject,
  where: string,
  needed: readonly string[],
  optional: readonly string[] = [],
): JsonObject {
  let changes: Record<string, Long> | undefined
  const note = (name: string, value: Long | undefined) => {
    if (value === undefined || Object.is(value, object[name])) return
    changes ??= {}
    changes[name] = value
  }
  for (const name of needed) note(name, readLong(object, name, where))
  for (const name of optional) note(name, readOptionalLong(object, name, where))
  return changes === undefined ? object : { ...object, ...changes }
}

/** The same array where its items are these, so that unchanged parts stay shared. */
export function sameItems<T>(before: unknown, items: T[]): readonly T[] {
  if (!Array.isArray(before) || before.length !== items.length) return items
  return items.every((item, i) => Object.is(item, before[i])) ? before : items
}
