import type { DataType } from '@uwdata/flechette'
import { planCall } from '../functions/index.ts'
import { elementFunction } from '../functions/lists.ts'
import type { Expression } from '../syntax/syntax.ts'
import { kept, mapInSteps } from '../work.ts'
import { arithmeticPlan, negatePlan, shiftPlan } from './arithmetic.ts'
import { casePlan } from './case.ts'
import { fold } from './fold.ts'
import { bindLiteral, isLiteralExpression } from './literal-syntax.ts'
import { resolveField, resolveName } from './names.ts'
import { betweenPlan, comparePlan, condition, inPlan, logicPlan } from './operators.ts'
import type { Plan } from './plan.ts'
import { cast, refuse, type Scope, writtenCast } from './scope.ts'
import { concatPlan, likePlan } from './text-operators.ts'
import {
  boolean,
  dateMillisecond,
  itemType,
  long,
  sameType,
  TimeUnit,
  Type,
  timestamp,
  typeName,
} from './types.ts'

type Binary = Extract<Expression, { kind: 'binary' }>
type Cast = Extract<Expression, { kind: 'cast' }>

/**
 * The context of an expression, since the reference treats some things differently. In a `condition`, reached from the
 * top through AND, OR, NOT, operators and IS NULL only, `regexp_match` returns whether there is a match. In an
 * `argument` of a function, column names must match exactly.
 */
type BindContext = 'condition' | 'value' | 'argument'

type CastMaker = (scope: Scope, plan: Plan, type: DataType, at: number, orNull: boolean) => Plan

/** Resolves an expression's names and types. */
export function bind(scope: Scope, expression: Expression, context: BindContext = scope.wanted): Plan {
  return keptBound(expression, () => bindExpression(scope, expression, context))
}

/** Length of an expression, in characters, from which on its plan is kept while planning pauses. */
const keptLength = 128

/** Keeps the plan of an expression, if it is long. */
export function keptBound(expression: Expression, make: () => Plan): Plan {
  return expression.end - expression.at < keptLength ? make() : kept(expression, make)
}

function bindExpression(scope: Scope, expression: Expression, context: BindContext): Plan {
  const { at } = expression
  const inner = context === 'argument' ? context : 'value'
  const bound = (part: Expression) => bind(scope, part, inner)
  const same = (part: Expression) => bind(scope, part, context)
  const castTo = ({ arg, to, at, orNull }: Cast, inside: (part: Expression) => Plan, make: CastMaker) => {
    if (context !== 'argument') return make(scope, inside(arg), to.type, at, orNull)
    const value = inside(arg)
    const counted = orNull ? value : inSeconds(scope, value, to.inArgument, at)
    return make(scope, counted, to.inArgument, at, orNull)
  }
  const compared = (part: Expression): Plan =>
    part.kind === 'cast' ? castTo(part, compared, writtenCast) : bound(part)
  const side = (part: Expression) =>
    part.kind === 'cast' && isComparison(expression) ? compared(part) : same(part)
  switch (expression.kind) {
    case 'name':
      return resolveName(scope.text, scope.schema, expression.parts, at, context === 'argument')
    case 'field':
      return fieldPlan(scope, bound(expression.arg), expression.name, at)
    case 'element':
      return elementPlan(scope, bound(expression.arg), bound(expression.index), at)
    case 'and':
    case 'or':
      return logicPlan(scope, expression.kind, mapInSteps(expression.args, same), at)
    case 'not':
      return notPlan(scope, same(expression.arg), at)
    case 'minus':
      return negatePlan(scope, bound(expression.arg), at)
    case 'binary': {
      const [left, right] = [side(expression.left), side(expression.right)]
      const joined = context === 'argument' && expression.operator === '||' && listFunction(left, right)
      return joined
        ? planCall(scope, joined, [left, right], expression.operatorAt)
        : binaryPlan(scope, expression, left, right)
    }
    case 'isNull':
      return isNullPlan(same(expression.arg), expression.negated)
    case 'isBool': {
      const arg = condition(scope, bound(expression.arg), at, 'IS TRUE or IS FALSE')
      return fold({
        kind: 'isBool',
        type: boolean,
        arg,
        value: expression.value,
        negated: expression.negated,
      })
    }
    case 'between': {
      const { arg, low, high, negated } = expression
      return betweenPlan(scope, compared(arg), bound(low), bound(high), negated, at)
    }
    case 'in':
      return inPlan(
        scope,
        compared(expression.arg),
        mapInSteps(expression.items, bound),
        expression.negated,
        at,
      )
    case 'like':
      return likePlan(scope, bound(expression.arg), bound(expression.pattern), expression, at)
    case 'cast':
      return castTo(expression, bound, cast)
    case 'call': {
      const args = mapInSteps(expression.args, (arg) => bind(scope, arg, 'argument'))
      const call = planCall(scope, expression.name, args, at)
      const isMatch = context === 'condition' && expression.name.toLowerCase() === 'regexp_match'
      return isMatch ? isNullPlan(call, true) : call
    }
    case 'case':
      return casePlan(scope, expression, (part) => bind(scope, part, inner))
    case 'list':
      // The reference computes the items of a list only within arguments.
      if (context !== 'argument' || expression.items.every((item) => isLiteralExpression(item)))
        return bindLiteral(scope, expression)
      return planCall(scope, 'make_array', mapInSteps(expression.items, same), at)
    default:
      return bindLiteral(scope, expression)
  }
}

/** An operator between two bound values. */
export function binaryPlan(
  scope: Scope,
  { operator, operatorAt: at }: Binary,
  left: Plan,
  right: Plan,
): Plan {
  switch (operator) {
    case '||':
      return concatPlan(scope, left, right, at)
    case '<<':
    case '>>':
      return shiftPlan(scope, operator, left, right, at)
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
      return arithmeticPlan(scope, operator, left, right, at)
    default:
      return comparePlan(scope, operator, left, right, at)
  }
}

/** The function that joins lists, or a list and an item, as `||` does within arguments; undefined for other values. */
function listFunction(left: Plan, right: Plan): string | undefined {
  if (itemType(left.type)) return itemType(right.type) ? 'array_concat' : 'array_append'
  return itemType(right.type) && 'array_prepend'
}

/** Within arguments, a number cast to a timestamp of nanoseconds counts seconds, as in the reference. */
function inSeconds(scope: Scope, plan: Plan, type: DataType, at: number): Plan {
  if (type.typeId !== Type.Timestamp || type.unit !== TimeUnit.NANOSECOND || !sameType(plan.type, long))
    return plan
  if (isLongDateDifference(plan)) return plan
  return cast(scope, plan, timestamp(TimeUnit.SECOND), at)
}

/** Whether a value is the days between 64-bit dates. The reference treats it as a duration until it is evaluated. */
function isLongDateDifference(plan: Plan): boolean {
  if (plan.kind === 'negate') return isLongDateDifference(plan.arg)
  return (
    plan.kind === 'call' &&
    plan.function.name === 'date -' &&
    plan.args.some(({ type }) => sameType(type, dateMillisecond()))
  )
}

function isComparison(expression: Expression): boolean {
  return expression.kind === 'binary' && /^(?:=|<>|<|<=|>|>=)$/.test(expression.operator)
}

function notPlan(scope: Scope, arg: Plan, at: number): Plan {
  return fold({ kind: 'not', type: boolean, arg: condition(scope, arg, at, 'NOT') })
}

function isNullPlan(arg: Plan, negated: boolean): Plan {
  return fold({ kind: 'isNull', type: boolean, arg, negated })
}

/** A field of a struct value. */
function fieldPlan(scope: Scope, arg: Plan, name: string, at: number): Plan {
  if (arg.kind === 'column') return resolveField(scope.text, arg, name, at)
  const problem = `the field ${JSON.stringify(name)} of a value of type ${typeName(arg.type)}`
  throw refuse(scope, at, problem, 'Only columns have fields.')
}

/** An element of a list, counted from 1, or from the end if negative. */
function elementPlan(scope: Scope, arg: Plan, index: Plan, at: number): Plan {
  return elementFunction(scope, [arg, index], at)
}
