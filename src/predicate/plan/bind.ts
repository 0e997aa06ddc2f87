import { planCall } from '../functions/index.ts'
import type { Expression } from '../syntax/syntax.ts'
import { kept, mapInSteps } from '../work.ts'
import { elementPlan, fieldPlan } from './access.ts'
import { arithmeticPlan, negatePlan } from './arithmetic.ts'
import { casePlan } from './case.ts'
import { fold } from './fold.ts'
import { bindLiteral } from './literal-syntax.ts'
import { resolveName } from './names.ts'
import { betweenPlan, comparePlan, condition, inPlan, logicPlan } from './operators.ts'
import type { Plan } from './plan.ts'
import { cast, type Scope } from './scope.ts'
import { concatPlan, likePlan } from './text-operators.ts'
import { boolean } from './types.ts'

type Binary = Extract<Expression, { kind: 'binary' }>

/**
 * Where an expression stands, as the reference treats some things differently: in a `condition`, reached from
 * the top through AND, OR, NOT, operators and IS NULL only, `regexp_match` says whether there is a match; in
 * an `argument` of a function, columns are named exactly.
 */
type Place = 'condition' | 'value' | 'argument'

/** Resolves an expression's names and types. */
export function bind(scope: Scope, expression: Expression, place: Place = scope.wanted): Plan {
  return keptBound(expression, () => bindExpression(scope, expression, place))
}

/** Characters of an expression that is kept while planning pauses; shorter ones are bound again. */
const keptLength = 128

/** Keeps the plan of an expression, if it is long. */
export function keptBound(expression: Expression, make: () => Plan): Plan {
  return expression.end - expression.at < keptLength ? make() : kept(expression, make)
}

function bindExpression(scope: Scope, expression: Expression, place: Place): Plan {
  const { at } = expression
  const inner = place === 'argument' ? place : 'value'
  const bound = (part: Expression) => bind(scope, part, inner)
  const same = (part: Expression) => {
    const plan = bind(scope, part, place)
    return place === 'condition' ? matched(plan) : plan
  }
  switch (expression.kind) {
    case 'name':
      return resolveName(scope.text, scope.schema, expression.parts, at, place === 'argument')
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
    case 'binary':
      return binaryPlan(scope, expression, same(expression.left), same(expression.right))
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
      return betweenPlan(scope, bound(arg), bound(low), bound(high), negated, at)
    }
    case 'in':
      return inPlan(scope, bound(expression.arg), mapInSteps(expression.items, bound), expression.negated, at)
    case 'like':
      return likePlan(scope, bound(expression.arg), bound(expression.pattern), expression, at)
    case 'cast':
      return cast(scope, bound(expression.arg), expression.type, at, expression.orNull)
    case 'call':
      return planCall(
        scope,
        expression.name,
        mapInSteps(expression.args, (arg) => bind(scope, arg, 'argument')),
        at,
      )
    case 'case':
      return casePlan(scope, expression, (part) => bind(scope, part, inner))
    default:
      return bindLiteral(scope, expression)
  }
}

/** An operator between two values that are bound already. */
export function binaryPlan(
  scope: Scope,
  { operator, operatorAt: at }: Binary,
  left: Plan,
  right: Plan,
): Plan {
  switch (operator) {
    case '||':
      return concatPlan(scope, left, right, at)
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

function notPlan(scope: Scope, arg: Plan, at: number): Plan {
  return fold({ kind: 'not', type: boolean, arg: condition(scope, arg, at, 'NOT') })
}

function isNullPlan(arg: Plan, negated: boolean): Plan {
  return fold({ kind: 'isNull', type: boolean, arg, negated })
}

/** The same for what a row is selected by; values stay as they are. */
export function matchedIn(scope: Scope, plan: Plan): Plan {
  return scope.wanted === 'condition' ? matched(plan) : plan
}

/** Where a condition is wanted, `regexp_match(…)` says whether there is a match. */
export function matched(plan: Plan): Plan {
  if (plan.kind !== 'call' || plan.function.name !== 'regexp_match') return plan
  return isNullPlan(plan, true)
}
