import { type Bitmap, copyRows, intersect, isEmpty, subtract, union } from '../../arrow/bitmap.ts'
import { checkTime } from '../work.ts'
import type { Frame } from './frame.ts'
import { type TestNode, type ValueNode, type WantedOutcomes, wantBoth, wantFalse, wantTrue } from './node.ts'
import { readerOf } from './read.ts'

/** The outcomes to compute for an expression when `wanted` is computed for its negation. */
export function opposite(wanted: WantedOutcomes): WantedOutcomes {
  return wanted === wantBoth ? wantBoth : wanted === wantTrue ? wantFalse : wantTrue
}

/**
 * `AND` or `OR` of any number of operands. Each is evaluated only for rows that the earlier ones left undecided. An
 * operand that may throw keeps its place in the order. Neighbours that cannot throw are ordered cheapest first.
 */
export function junctionNode(kind: 'and' | 'or', args: readonly TestNode[]): TestNode {
  const ordered = cheapestFirst(args)
  const cost = args.reduce((sum, arg) => sum + arg.cost, 0)
  const raises = args.some((arg) => arg.raises)
  if (kind === 'and') {
    return {
      cost,
      raises,
      test: (frame, need, wanted, yes, no) =>
        wanted === wantTrue
          ? holdAll(frame, ordered, need, yes)
          : conjunction(frame, ordered, need, wanted, yes, no),
    }
  }
  // a OR b is NOT (NOT a AND NOT b), and negation swaps the two bitmaps.
  const negated = ordered.map(notNode)
  return {
    cost,
    raises,
    test: (frame, need, wanted, yes, no) =>
      wanted === wantFalse
        ? holdAll(frame, negated, need, no)
        : conjunction(frame, negated, need, opposite(wanted), no, yes),
  }
}

/** A filter wants true only: a row is out once one operand is false or null. */
function holdAll(frame: Frame, args: readonly TestNode[], need: Bitmap, yes: Bitmap): void {
  const mark = frame.mark()
  const no = frame.bitmap()
  let open = frame.copyOf(need)
  let next = frame.bitmap()
  for (const arg of args) {
    checkTime()
    arg.test(frame, open, wantTrue, next, no)
    const done = open
    open = next
    next = done
    if (isEmpty(open, frame.words)) break
  }
  copyRows(open, yes, frame.words)
  frame.release(mark)
}

/** For all three outcomes: a row is decided once one operand is false. */
function conjunction(
  frame: Frame,
  args: readonly TestNode[],
  need: Bitmap,
  wanted: WantedOutcomes,
  yes: Bitmap,
  no: Bitmap,
): void {
  const mark = frame.mark()
  const open = frame.copyOf(need)
  const isTrue = frame.bitmap()
  const isFalse = frame.bitmap()
  copyRows(need, yes, frame.words)
  no.fill(0, 0, frame.words)
  for (const arg of args) {
    checkTime()
    arg.test(frame, open, wanted, isTrue, isFalse)
    union(no, isFalse, no, frame.words)
    subtract(open, isFalse, open, frame.words)
    if (wanted === wantBoth) intersect(yes, isTrue, yes, frame.words)
    if (isEmpty(open, frame.words)) break
  }
  if (wanted === wantBoth) intersect(yes, open, yes, frame.words)
  frame.release(mark)
}

function cheapestFirst(args: readonly TestNode[]): TestNode[] {
  const ordered: TestNode[] = []
  let from = 0
  for (let i = 0; i <= args.length; i++) {
    if (i < args.length && !args[i]!.raises) continue
    for (const arg of args.slice(from, i).sort((a, b) => a.cost - b.cost)) ordered.push(arg)
    if (i < args.length) ordered.push(args[i]!)
    from = i + 1
  }
  return ordered
}

export function notNode(arg: TestNode): TestNode {
  return {
    cost: arg.cost,
    raises: arg.raises,
    test: (frame, need, wanted, yes, no) => arg.test(frame, need, opposite(wanted), no, yes),
  }
}

/** `IS [NOT] TRUE`, `IS [NOT] FALSE`. */
export function isBoolNode(arg: TestNode, value: boolean, negated: boolean): TestNode {
  return {
    cost: arg.cost,
    raises: arg.raises,
    test(frame, need, _wanted, yes, no) {
      const mark = frame.mark()
      const other = frame.bitmap()
      const found = negated ? no : yes
      if (value) arg.test(frame, need, wantTrue, found, other)
      else arg.test(frame, need, wantFalse, other, found)
      subtract(need, found, negated ? yes : no, frame.words)
      frame.release(mark)
    },
  }
}

/** `IS [NOT] NULL` of a boolean expression. */
export function isUnknownNode(arg: TestNode, negated: boolean): TestNode {
  return {
    cost: arg.cost,
    raises: arg.raises,
    test(frame, need, _wanted, yes, no) {
      const mark = frame.mark()
      const isTrue = frame.bitmap()
      const known = negated ? yes : no
      arg.test(frame, need, wantBoth, isTrue, known)
      union(known, isTrue, known, frame.words)
      subtract(need, known, negated ? no : yes, frame.words)
      frame.release(mark)
    },
  }
}

/** `IS [NOT] NULL` of any other expression. */
export function isNullNode(arg: ValueNode, negated: boolean): TestNode {
  return {
    cost: arg.validRows === undefined ? arg.cost : 0,
    raises: arg.raises,
    test(frame, need, _wanted, yes, no) {
      const mark = frame.mark()
      const known = negated ? yes : no
      if (arg.validRows !== undefined) copyRows(arg.validRows(frame, need), known, frame.words)
      else {
        const vector = arg.vector(frame, need)
        if (vector.valid === null) copyRows(need, known, frame.words)
        else intersect(need, vector.valid, known, frame.words)
      }
      subtract(need, known, negated ? no : yes, frame.words)
      frame.release(mark)
    },
  }
}

/** A constant outcome for every row. */
export function constantTest(value: boolean | null): TestNode {
  return {
    cost: 0,
    raises: false,
    test(frame, need, _wanted, yes, no) {
      if (value === true) copyRows(need, yes, frame.words)
      else yes.fill(0, 0, frame.words)
      if (value === false) copyRows(need, no, frame.words)
      else no.fill(0, 0, frame.words)
    },
  }
}

/** A boolean expression given as values: a column, the result of a function. */
export function testOfValues(arg: ValueNode): TestNode {
  return {
    cost: arg.cost,
    raises: arg.raises,
    test(frame, need, _wanted, yes, no) {
      const mark = frame.mark()
      const vector = arg.vector(frame, need)
      if (vector.kind === 'booleans') {
        intersect(need, vector.values, yes, frame.words)
        subtract(need, vector.values, no, frame.words)
        if (vector.valid !== null) {
          intersect(yes, vector.valid, yes, frame.words)
          intersect(no, vector.valid, no, frame.words)
        }
      } else {
        const read = readerOf(vector)
        yes.fill(0, 0, frame.words)
        no.fill(0, 0, frame.words)
        for (let row = 0; row < frame.length; row++) {
          const bit = 1 << (row & 31)
          if ((need[row >>> 5]! & bit) === 0) continue
          const value = read(row)
          if (value === true) yes[row >>> 5]! |= bit
          else if (value === false) no[row >>> 5]! |= bit
        }
      }
      frame.release(mark)
    },
  }
}

/** The values of a boolean expression, for functions and comparisons that take them. */
export function valuesOfTest(arg: TestNode, type: ValueTypes): ValueNode {
  return {
    cost: arg.cost,
    raises: arg.raises,
    vector(frame, need) {
      const values = frame.bitmap()
      const valid = frame.bitmap()
      arg.test(frame, need, wantBoth, values, valid)
      union(values, valid, valid, frame.words)
      return { kind: 'booleans', type, valid, values }
    },
  }
}

type ValueTypes = Parameters<typeof readerOf>[0]['type']
