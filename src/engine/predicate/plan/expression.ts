import { type DataType, type Field, type Schema, Type, timestamp } from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import { buildBatch } from '../../arrow/input/build.ts'
import { layoutOf } from '../../arrow/layout.ts'
import { typeName as exactName } from '../../arrow/type-name.ts'
import { converter, eachItem, showScalar } from '../cast/index.ts'
import type { Convert } from '../cast/numbers.ts'
import { excerpt, rowError } from '../errors.ts'
import { foldInSteps, operandsOf } from '../evaluate/fold.ts'
import { parseValue } from '../syntax/parser.ts'
import { kept } from '../work.ts'
import { checkedDecimal } from './decimal-arithmetic.ts'
import { bindFilter } from './filter.ts'
import { isLiteral } from './fold.ts'
import { literal } from './literals.ts'
import type { LiteralPlan, NonNullScalar, Plan, Scalar } from './plan.ts'
import { refuse, type Scope } from './scope.ts'
import { isNull, isReadable, itemType, logicalType, sameType, typeName } from './types.ts'

/** An expression for values, bound to a schema. */
export interface ValuePlan {
  readonly plan: Plan
  /** The column or struct field that it copies. */
  readonly path: readonly number[] | undefined
  /** The field for its values. */
  readonly field: Field
}

/**
 * Parses an expression for values and binds it to a schema. With a target it returns the values of an assignment to the
 * target. Refuses other syntax, unknown columns and mixed types as `InvalidInput`.
 */
export function planExpression(
  text: string,
  schema: Schema,
  now: () => number,
  target: Field | undefined,
): ValuePlan {
  const expression = kept(parseValue, () => parseValue(text))
  const scope: Scope = { text, schema, now, wanted: 'value' }
  const bound = kept(planExpression, () => bindFilter(scope, expression))
  const column = bound.kind === 'column' ? fieldAt(schema, bound.path) : undefined
  if (column && (!target || exactName(column.type) === exactName(target.type))) {
    const field = target ?? { ...column, name: text }
    return { plan: bound, path: (bound as { path: readonly number[] }).path, field }
  }
  const { at } = expression
  if (target === undefined) {
    const plan = kept(foldInSteps, () => foldInSteps(checkedDecimal(bound, at)))
    return { plan, path: undefined, field: fieldOf(text, plan.type, isNullable(bound, schema)) }
  }
  if (!isNull(bound.type) && !isReadable(bound.type)) {
    const problem = `a value of type ${typeName(bound.type)} for ${JSON.stringify(target.name)} of type ${exactName(target.type)}`
    throw refuse(scope, at, problem, 'Such a value can only be handed on to a column of its own type.')
  }
  const plan = kept(foldInSteps, () => foldInSteps(bound))
  return { plan: assigned(scope, plan, target, at), path: undefined, field: target }
}

/** The field at a path, nullable if it or a struct around it is. */
function fieldAt(schema: Schema, path: readonly number[]): Field {
  let field = schema.fields[path[0]!]!
  for (const index of path.slice(1)) {
    const { type, nullable } = field
    const child = (type.typeId === Type.Struct ? type.children : [])[index]!
    field = { ...child, nullable: child.nullable || nullable }
  }
  return field
}

function fieldOf(name: string, type: DataType, nullable: boolean): Field {
  return { name, type, nullable, metadata: new Map() }
}

/** Whether values of an expression may be null. Functions may return null for values that are not. */
export function isNullable(plan: Plan, schema: Schema): boolean {
  const any = (parts: readonly Plan[]) => parts.some((part) => isNullable(part, schema))
  switch (plan.kind) {
    case 'literal':
      return plan.value === null
    case 'column': {
      let { fields } = schema
      for (const index of plan.path) {
        const field = fields[index]!
        if (field.nullable) return true
        fields = field.type.typeId === Type.Struct ? field.type.children : []
      }
      return false
    }
    case 'isNull':
    case 'isBool':
      return false
    case 'in':
      return plan.hasNull || isNullable(plan.arg, schema)
    case 'like':
      return plan.pattern === null || isNullable(plan.arg, schema)
    case 'cast':
      return plan.orNull || isNullable(plan.arg, schema)
    case 'case':
      return any([...plan.branches.map(({ result }) => result), plan.otherwise])
    case 'call':
      return true
    default:
      return any(operandsOf(plan))
  }
}

/**
 * Converts a plan's values to a column's type by the dialect's casts. Unlike a cast, it loses nothing: a fraction is
 * not cut, a time keeps its parts, and a number stays finite. Floats may be rounded.
 */
export function assigned(scope: Scope, plan: Plan, target: Field, at: number): Plan {
  const type = logicalType(target.type)
  const same = sameType(plan.type, type)
  const convert = !same && isReadable(type) ? lossless(plan.type, type) : undefined
  const fits = same || convert !== undefined
  if (isNull(plan.type) || (fits && isLiteral(plan) && plan.value === null)) {
    if (target.nullable) return literal(type, null)
    throw refuse(scope, at, `NULL for ${nameOf(target)}, which takes none,`, 'Give another value.')
  }
  if (same) return isLiteral(plan) ? checked(scope, plan, target, at) : plan
  if (!convert) {
    const problem = `a value of type ${typeName(plan.type)} for ${nameOf(target)}, to which it cannot be converted,`
    const remedy = isNull(target.type)
      ? 'Give the column a type first, by alterTableAlterColumns or by rows that are inserted.'
      : 'Give a value of its type, or CAST through STRING.'
    throw refuse(scope, at, problem, remedy)
  }
  const what = (value: NonNullScalar) =>
    `${typeName(plan.type)} ${excerpt(showScalar(value, plan.type))} does not fit ${nameOf(target)}`
  const remedy = 'Give a value that fits, or CAST it on purpose.'
  if (isLiteral(plan)) {
    const value = convert(plan.value!)
    if (value === undefined) throw refuse(scope, at, `${what(plan.value!)},`, remedy)
    return checked(scope, literal(type, value), target, at)
  }
  const strict = (value: NonNullScalar): Scalar => {
    const converted = convert(value)
    if (converted !== undefined) return converted
    throw rowError(at, what(value), remedy)
  }
  return { kind: 'cast', type, arg: plan, orNull: false, at, convert: strict }
}

function nameOf({ name, type }: Field): string {
  return `column ${JSON.stringify(name)} of type ${exactName(type)}`
}

/** Accepts a constant that the column's layout can store, which may have a fixed size. */
function checked(scope: Scope, plan: LiteralPlan, target: Field, at: number): LiteralPlan {
  try {
    buildBatch({ ...target, nullable: true }, { values: [plan.value], rows: [0] })
    return plan
  } catch (cause) {
    if (!(cause instanceof CatalogError)) throw cause
    const what = `the ${typeName(plan.type)} ${excerpt(showScalar(plan.value!, plan.type))}`
    throw refuse(scope, at, `${what}, which does not fit ${nameOf(target)},`, 'Give a value that fits.', {
      cause,
    })
  }
}

/** Converts values between types, and returns undefined for a value that would lose something. */
function lossless(from: DataType, to: DataType): Convert | undefined {
  if (sameType(from, to)) return (value) => value
  const [source, target] = [itemType(from), itemType(to)]
  if (source && target) {
    const item = isNull(source) ? () => undefined : lossless(source, target)
    return item && eachItem(item)
  }
  // A number is not accepted as its bytes.
  const convert = from.typeId === Type.Int && to.typeId === Type.Binary ? undefined : converter(from, to)
  if (!convert) return undefined
  if (to.typeId === Type.Float) {
    return (value) => {
      const converted = convert(value)
      const grew = !Number.isFinite(converted) && typeof value !== 'string' && isFiniteValue(value)
      return grew ? undefined : converted
    }
  }
  if (!mustRoundTrip(from, to)) return convert
  // A zone changes a time, and loses nothing of it. A date belongs to its zone.
  const [here, there] = isInstant(from) && isInstant(to) ? [zoneless(from), zoneless(to)] : [from, to]
  const [convertTo, convertBack] = [converter(here, there)!, converter(there, here)!]
  return (value) => {
    const same = convertTo(value)
    return same !== undefined && convertBack(same) === value ? convert(value) : undefined
  }
}

/** Whether values are points in time, not days. */
function isInstant(type: DataType): boolean {
  return type.typeId === Type.Timestamp || (type.typeId === Type.Date && type.unit === 1)
}

function zoneless(type: DataType): DataType {
  return type.typeId === Type.Timestamp ? timestamp(type.unit) : type
}

/** Whether a conversion must be reversible without a difference. */
function mustRoundTrip(from: DataType, to: DataType): boolean {
  switch (from.typeId) {
    case Type.Float:
      return to.typeId === Type.Int
    case Type.Decimal:
      return to.typeId === Type.Int || to.typeId === Type.Decimal
    case Type.Date:
    case Type.Time:
    case Type.Timestamp:
    case Type.Duration:
      return to.typeId !== Type.Utf8 && to.typeId !== Type.Int
    default:
      return false
  }
}

function isFiniteValue(value: NonNullScalar): boolean {
  return typeof value !== 'number' || Number.isFinite(value)
}

/** Bytes of a number, a time or a boolean as text. */
const bytesOfPlain = 80
/** Bytes of a UTF-16 unit in UTF-8. */
const bytesOfUnit = 3

/** Functions that return a text no longer than their first argument. */
const shortening = new Set([
  'ltrim',
  'rtrim',
  'btrim',
  'trim',
  'left',
  'right',
  'reverse',
  'split_part',
  'nullif',
])
/** Functions that replace each letter by another one. */
const ofLetters = new Set(['lower', 'upper', 'initcap'])
/** Functions that join their arguments, or choose one of them. */
const joining = new Set(['||', 'concat', 'coalesce', 'ifnull', 'nvl'])

/**
 * The most bytes that an expression's values take in the given number of rows, as far as that follows from the
 * expression: infinity if lengths are only known after evaluation. `ofColumn` returns the bytes of a top-level column
 * in all rows.
 */
export function mostBytes(plan: Plan, rows: number, ofColumn: (index: number) => number): number {
  const fixed = fixedBytes(plan.type)
  if (fixed !== undefined) return fixed * rows
  const sumOf = (plans: readonly Plan[]) =>
    plans.reduce((sum, one) => sum + textBytes(one, rows, ofColumn), 0)
  switch (plan.kind) {
    case 'literal':
      if (plan.value === null) return rows
      return typeof plan.value === 'string' ? (Buffer.byteLength(plan.value) + 4) * rows : Infinity
    case 'column':
      // A dictionary may be smaller than the values that it encodes.
      return plan.path.length === 1 ? ofColumn(plan.path[0]!) : Infinity
    case 'cast':
      return sumOf([plan.arg])
    case 'case':
      return sumOf([...plan.branches.map(({ result }) => result), plan.otherwise])
    case 'call': {
      const { name } = plan.function
      if (shortening.has(name)) return sumOf(plan.args.slice(0, 1))
      if (ofLetters.has(name)) return sumOf(plan.args.slice(0, 1)) * bytesOfUnit
      return joining.has(name) ? sumOf(plan.args) : Infinity
    }
    default:
      return Infinity
  }
}

/** The same for values converted to text. */
function textBytes(plan: Plan, rows: number, ofColumn: (index: number) => number): number {
  return fixedBytes(plan.type) === undefined ? mostBytes(plan, rows, ofColumn) : bytesOfPlain * rows
}

/** The bytes of each value of a type; undefined if values differ. */
function fixedBytes(type: DataType): number | undefined {
  const layout = layoutOf(type)
  if (layout.kind === 'null' || layout.kind === 'bits') return 1
  return layout.kind === 'fixed' ? layout.bytes : undefined
}
