import type { DataType } from '@uwdata/flechette'
import { textOf } from '../cast/to-text.ts'
import { sizeOf } from '../evaluate/scalar.ts'
import { comparisonType } from '../plan/coerce.ts'
import { compare, isLiteral } from '../plan/fold.ts'
import { literal } from '../plan/literals.ts'
import type { LiteralPlan, NonNullScalar, OfItems, Plan, Scalar } from '../plan/plan.ts'
import { cast, refuse, type Scope } from '../plan/scope.ts'
import {
  boolean,
  integerRange,
  integerType,
  isDate,
  isInteger,
  isNull,
  isNumeric,
  isReadable,
  isText,
  itemType,
  listOf,
  long,
  none,
  sameType,
  Type,
  text,
  typeName,
} from '../plan/types.ts'
import {
  asText,
  badValue,
  type Call,
  chargeCall,
  checkJoined,
  expectArguments,
  type FunctionPlanner,
  integerArgument,
  looseCall,
  strictCall,
  wrongType,
} from './signature.ts'

export type List = readonly Scalar[]

/** Charges the steps to compare each item of one list with each item of another. */
function chargePairs(call: Call, list: List, wanted: List): void {
  chargeCall(call, wanted.length * (list.length * stepsOfItem + sizeOf(list) / charactersInStep))
}

/** Steps to compare two items, and the characters of text compared in one step. */
export const stepsOfItem = 10
const charactersInStep = 4

const unsignedLong = integerType(false, 64)

/** The list in an argument; NULL counts as a list without items. */
export function listArgument(call: Call, index: number): { plan: Plan; item: DataType } {
  const plan = call.args[index]!
  if (isNull(plan.type)) return { plan: cast(call.scope, plan, listOf(none), call.at), item: none }
  const item = itemType(plan.type)
  if (!item || !isReadable(item)) throw wrongType(call, index, 'a list')
  return { plan, item }
}

/** Whether two items are equal; unlike in comparisons, -0 and 0 differ here. */
export function sameValue(a: Scalar, b: Scalar): boolean {
  if (typeof a === 'number') return Object.is(a, b)
  if (typeof a === 'string') return a === b
  return a === null || b === null ? a === b : compare('=', a, b)
}

/** A list and a value, both cast to the type in which their items are compared. */
export function listAndItem(call: Call): [Plan, Plan] {
  const { plan, item } = listArgument(call, 0)
  const value = call.args[1]!
  const type = isNumeric(item) && isText(value.type) ? undefined : itemsType(item, value.type)
  if (!type || !isReadable(value.type)) throw wrongType(call, 1, typeName(item))
  return [cast(call.scope, plan, listOf(type), call.at), cast(call.scope, value, type, call.at)]
}

/**
 * The type of items that two lists have in common; undefined if there is none. Unlike in comparisons, text becomes no
 * bytes and no point in time, and a whole number no date.
 */
export function itemsType(a: DataType, b: DataType): DataType | undefined {
  const [left, right] = [itemType(a), itemType(b)]
  if (left && right) {
    const item = itemsType(left, right)
    return item && listOf(item)
  }
  const isMixed = (from: DataType, to: DataType) =>
    isText(from) ? !(isText(to) || isNull(to) || isNumeric(to)) : isInteger(from) && isDate(to)
  return isMixed(a, b) || isMixed(b, a) ? undefined : comparisonType(a, b)
}

/** Two lists of one type. */
function twoLists(call: Call): [Plan, Plan] {
  const a = listArgument(call, 0)
  const b = listArgument(call, 1)
  const type = itemsType(a.item, b.item)
  if (!type) throw wrongType(call, 1, `a list of ${typeName(a.item)}`)
  return [cast(call.scope, a.plan, listOf(type), call.at), cast(call.scope, b.plan, listOf(type), call.at)]
}

const has: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  const [list, value] = listAndItem(call)
  const narrow = narrowed(call, value)
  const args = narrow ? [call.args[0]!, narrow] : [list, value]
  return strictCall(
    call,
    boolean,
    args,
    (list: List, value: NonNullScalar) => list.some((item) => sameValue(item, value)),
    narrow && { kind: 'listHas', item: narrow.type },
  )
}

/**
 * Converts a literal to the list's item type if possible, so that the list need not be cast. Not for zero in lists of
 * floats, where -0 and 0 differ here, but are equal in comparisons.
 */
function narrowed(call: Call, value: Plan): LiteralPlan | undefined {
  const item = itemType(call.args[0]!.type)
  if (item === undefined || !isLiteral(value) || value.value === null) return undefined
  if (isInteger(item) && isInteger(value.type)) {
    const [low, high] = integerRange(item)
    const wanted = BigInt(value.value as number | bigint)
    if (wanted < low || wanted > high) return undefined
    return literal(item, item.typeId === Type.Int && item.bitWidth === 64 ? wanted : Number(wanted))
  }
  return sameType(item, value.type) && value.value !== 0 && !itemType(item) ? value : undefined
}

/** Whether an argument is the empty list literal: then the reference ignores all others, even if they are null. */
function isEmptyList(call: Call, index: number): boolean {
  const arg = call.args[index]!
  return isLiteral(arg) && Array.isArray(arg.value) && arg.value.length === 0
}

const hasAny: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  if (isEmptyList(call, 0) || isEmptyList(call, 1)) return literal(boolean, false)
  return strictCall(call, boolean, twoLists(call), (list: List, wanted: List) => {
    chargePairs(call, list, wanted)
    return wanted.some((value) => list.some((item) => sameValue(item, value)))
  })
}

const hasAll: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  if (isEmptyList(call, 1)) return literal(boolean, true)
  return strictCall(call, boolean, twoLists(call), (list: List, wanted: List) => {
    chargePairs(call, list, wanted)
    return wanted.every((value) => list.some((item) => sameValue(item, value)))
  })
}

const length: FunctionPlanner = (call) => {
  expectArguments(call, 1, 2)
  if (call.args.length === 1) return cardinality(call)
  const { plan } = listArgument(call, 0)
  const args = [plan, integerArgument(call, 1)]
  return strictCall(call, unsignedLong, args, (list: List, dimension: bigint) => {
    let level: Scalar = list
    for (let i = 1n; i < dimension && Array.isArray(level); i++) level = level[0] ?? null
    return dimension >= 1n && Array.isArray(level) ? BigInt(level.length) : null
  })
}

function count(list: List): bigint {
  return list.reduce((sum: bigint, item) => sum + (Array.isArray(item) ? count(item) : 1n), 0n)
}

const cardinality: FunctionPlanner = (call) => {
  expectArguments(call, 1)
  const { plan, item } = listArgument(call, 0)
  const apply: OfItems = (from, to) => BigInt(to - from)
  const kernel = itemType(item) ? undefined : ({ kind: 'listItems', apply } as const)
  return strictCall(call, unsignedLong, [plan], count, kernel)
}

const empty: FunctionPlanner = (call) => {
  expectArguments(call, 1)
  const apply: OfItems = (from, to) => from === to
  return strictCall(call, boolean, [listArgument(call, 0).plan], (list: List) => list.length === 0, {
    kind: 'listItems',
    apply,
  })
}

const itemPosition: FunctionPlanner = (call) => {
  expectArguments(call, 2, 3)
  const args = listAndItem(call)
  if (call.args.length === 3) args.push(integerArgument(call, 2))
  return looseCall(call, unsignedLong, args, (list = null, value = null, start = 1n) => {
    if (list === null || start === null) return null
    const items = list as List
    const from = Number(start) - 1
    if (from < 0 || from > items.length) {
      throw badValue(
        call,
        `the start ${start} in a list of ${items.length}`,
        'Start at an item of the list, or right after the last one.',
      )
    }
    const index = items.findIndex((item, i) => i >= from && sameValue(item, value))
    return index < 0 ? null : BigInt(index + 1)
  })
}

const element: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  return elementFunction(call.scope, call.args, call.at, call)
}

/** The element of a list at an index, counted from 1, or from the end if negative. */
export function elementFunction(
  scope: Scope,
  args: readonly Plan[],
  at: number,
  call: Call = { scope, name: 'array_element', args, at },
): Plan {
  const { plan, item } = listArgument(call, 0)
  const index = args[1]!
  if (!isNull(index.type) && !(isInteger(index.type) && isSmall(index.type))) {
    throw wrongType(call, 1, 'an integer')
  }
  const position = cast(scope, index, long, at)
  const evaluate = (list: List, position: bigint) => {
    const index = Number(position)
    return (index > 0 ? list[index - 1] : index < 0 ? list.at(index) : null) ?? null
  }
  if (!isLiteral(position) || position.value === null)
    return strictCall(call, item, [plan, position], evaluate)
  const wanted = Number(position.value)
  const apply: OfItems = (from, to, item) => {
    const place = wanted > 0 ? from + wanted - 1 : to + wanted
    return wanted !== 0 && place >= from && place < to ? item(place) : null
  }
  return strictCall(call, item, [plan, position], evaluate, { kind: 'listItems', apply })
}

function isSmall(type: DataType): boolean {
  return typeName(type) !== 'uint64'
}

const make: FunctionPlanner = (call) => {
  let type: DataType = none
  for (const [i, arg] of call.args.entries()) {
    const common: DataType | undefined = isReadable(arg.type) ? itemsType(type, arg.type) : undefined
    if (!common) throw wrongType(call, i, typeName(type))
    type = common
  }
  const items = call.args.map((arg) => cast(call.scope, arg, type, call.at))
  if (items.length === 0) return literal(listOf(type), [])
  return looseCall(call, listOf(type), items, (...values) => values)
}

/** The greatest or least item that is not null. */
function extreme(operator: '>' | '<'): FunctionPlanner {
  return (call) => {
    expectArguments(call, 1)
    const { plan, item } = listArgument(call, 0)
    if (isNull(item)) throw refuse(call.scope, call.at, `${call.name} of nothing`, 'Give it a list column.')
    // -0 is less than 0.
    const isBefore = (a: NonNullScalar, b: NonNullScalar) =>
      compare(operator, a, b) || (a === 0 && b === 0 && Object.is(operator === '<' ? a : b, -0))
    return strictCall(call, item, [plan], (list: List) => {
      let best: Scalar = null
      for (const value of list) {
        if (value !== null && (best === null || isBefore(value, best))) best = value
      }
      return best
    })
  }
}

const join: FunctionPlanner = (call) => {
  expectArguments(call, 2, 3)
  const { plan, item } = listArgument(call, 0)
  const show = isNull(item) ? () => undefined : textOf(item)
  if (!show) throw wrongType(call, 0, 'a list of values that can be written as strings')
  const write = (value: NonNullScalar) => show(value)?.replace(/\.0$/, typeof value === 'number' ? '' : '$&')
  const args = [plan, asText(call, 1)]
  if (call.args.length === 3) args.push(asText(call, 2))
  return looseCall(call, text, args, (list = null, delimiter = null, missing = null) => {
    if (list === null || delimiter === null) return null
    const parts: string[] = []
    for (const value of list as List) {
      if (value !== null) parts.push(write(value) ?? '')
      else if (missing !== null) parts.push(missing as string)
    }
    checkJoined(call, parts, delimiter as string)
    return parts.join(delimiter as string)
  })
}

export const listFunctions: Record<string, FunctionPlanner> = {
  array_has: has,
  list_has: has,
  array_contains: has,
  list_contains: has,
  array_has_any: hasAny,
  list_has_any: hasAny,
  arrays_overlap: hasAny,
  array_has_all: hasAll,
  list_has_all: hasAll,
  array_length: length,
  list_length: length,
  cardinality,
  empty,
  array_empty: empty,
  list_empty: empty,
  array_position: itemPosition,
  list_position: itemPosition,
  array_indexof: itemPosition,
  list_indexof: itemPosition,
  array_element: element,
  list_element: element,
  array_extract: element,
  list_extract: element,
  element_at: element,
  make_array: make,
  make_list: make,
  array_max: extreme('>'),
  list_max: extreme('>'),
  array_min: extreme('<'),
  array_to_string: join,
  list_to_string: join,
  array_join: join,
  list_join: join,
}
