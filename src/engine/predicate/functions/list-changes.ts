import type { DataType } from '@uwdata/flechette'
import { compare } from '../plan/fold.ts'
import { literal } from '../plan/literals.ts'
import type { NonNullScalar, Scalar } from '../plan/plan.ts'
import { cast, refuse } from '../plan/scope.ts'
import { listOf, none, typeName } from '../plan/types.ts'
import { itemsType, type List, listAndItem, listArgument, sameValue, stepsOfItem } from './lists.ts'
import {
  badValue,
  type Call,
  chargeCall,
  constantArgument,
  expectArguments,
  type FunctionPlanner,
  integerArgument,
  looseCall,
  strictCall,
  wrongType,
} from './signature.ts'

/* Functions that make a list of another one. */

/** The list with an item appended or prepended. NULL counts as a list without items. */
function added(first: boolean): FunctionPlanner {
  return (call) => {
    expectArguments(call, 2)
    const [list, value] = listAndItem(first ? { ...call, args: call.args.toReversed() } : call)
    return looseCall(call, list.type, [list, value], (items = null, item = null) => {
      const given = (items ?? []) as List
      chargeCall(call, given.length)
      return first ? [item, ...given] : [...given, item]
    })
  }
}

/** The items of all lists, one after the other. NULL among them is left out, and NULL alone stays NULL. */
const concat: FunctionPlanner = (call) => {
  expectArguments(call, 1, Infinity)
  let item: DataType = none
  for (const i of call.args.keys()) {
    const common = itemsType(item, listArgument(call, i).item)
    if (!common) throw wrongType(call, i, typeName(listOf(item)))
    item = common
  }
  const args = call.args.map((arg) => cast(call.scope, arg, listOf(item), call.at))
  return looseCall(call, listOf(item), args, (...lists) => {
    const known = lists.filter((list) => list !== null) as List[]
    for (const { length } of known) chargeCall(call, length)
    return known.length === 0 ? null : known.flat()
  })
}

/** Makes a list with the same item type from one list. */
function changed(change: (list: List, call: Call) => List): FunctionPlanner {
  return (call) => {
    expectArguments(call, 1)
    const { plan, item } = listArgument(call, 0)
    return strictCall(call, listOf(item), [plan], (list: List) => change(list, call))
  }
}

function distinct(list: List, call: Call): List {
  chargeCall(call, list.length * list.length * stepsOfItem)
  return list.filter((item, i) => list.findIndex((other) => sameValue(item, other)) === i)
}

/** The items in order, NULL first; two arguments can change both. */
const sort: FunctionPlanner = (call) => {
  expectArguments(call, 1, 3)
  const { plan, item } = listArgument(call, 0)
  const order = word(call, 1, 'ASC', 'DESC')
  const nulls = word(call, 2, 'NULLS FIRST', 'NULLS LAST')
  if (order === null || nulls === null) return literal(listOf(item), null)
  const sign = order === 'DESC' ? -1 : 1
  const before = nulls === 'NULLS LAST' ? 1 : -1
  return strictCall(call, listOf(item), [plan], (list: List) => {
    chargeCall(call, list.length * Math.ceil(Math.log2(list.length + 1)) * stepsOfItem)
    return list.toSorted((a, b) => {
      if (a === null || b === null) return a === b ? 0 : a === null ? before : -before
      return sign * orderOf(a, b)
    })
  })
}

/** Compares two items. -0 is less than 0. */
function orderOf(a: NonNullScalar, b: NonNullScalar): number {
  if (a === 0 && b === 0) return Number(Object.is(b, -0)) - Number(Object.is(a, -0))
  return compare('<', a, b) ? -1 : compare('>', a, b) ? 1 : 0
}

/** One of two words, in any case, as capitals; the first one if the argument is missing. */
function word(call: Call, index: number, first: string, second: string): string | null {
  const given = constantArgument(call, index)
  if (given === null) return null
  const known = given === undefined ? first : String(given).toUpperCase()
  if (known === first || known === second) return known
  throw refuse(
    call.scope,
    call.at,
    `another argument ${index + 1} of ${call.name}`,
    `Use '${first}' or '${second}'.`,
  )
}

/** The items between two positions, both counted from 1, or from the end if negative; every nth of them. */
const slice: FunctionPlanner = (call) => {
  expectArguments(call, 3, 4)
  const { plan, item } = listArgument(call, 0)
  const positions = call.args.slice(1).map((_, i) => integerArgument(call, i + 1))
  return strictCall(
    call,
    listOf(item),
    [plan, ...positions],
    (list: List, from: bigint, to: bigint, step = 1n) => {
      if (step === 0n) throw badValue(call, 'a step of 0', 'Take each first item, or each other one.')
      const { length } = list
      const position = (at: bigint) => Number(at < 0n ? at + BigInt(length) : at - 1n)
      const first = Math.max(position(from), 0)
      const last = Math.min(position(to), length - 1)
      const items: Scalar[] = []
      if (first >= length || last < 0) return items
      const wide =
        step > 0n
          ? step < BigInt(length)
            ? Number(step)
            : length
          : -Number(-step < BigInt(length) ? -step : length)
      for (let i = first; wide > 0 ? i <= last : i >= last; i += wide) items.push(list[i]!)
      return items
    },
  )
}

const append = added(false)
const prepend = added(true)
const reverse = changed((list) => list.toReversed())
const withoutLast = changed((list) => list.slice(0, -1))
const withoutFirst = changed((list) => list.slice(1))

export const listChangeFunctions: Record<string, FunctionPlanner> = {
  array_append: append,
  list_append: append,
  array_push_back: append,
  list_push_back: append,
  array_prepend: prepend,
  list_prepend: prepend,
  array_push_front: prepend,
  list_push_front: prepend,
  array_concat: concat,
  array_cat: concat,
  list_concat: concat,
  list_cat: concat,
  array_sort: sort,
  list_sort: sort,
  array_slice: slice,
  list_slice: slice,
  array_reverse: reverse,
  list_reverse: reverse,
  array_distinct: changed(distinct),
  list_distinct: changed(distinct),
  array_pop_back: withoutLast,
  list_pop_back: withoutLast,
  array_pop_front: withoutFirst,
  list_pop_front: withoutFirst,
}
