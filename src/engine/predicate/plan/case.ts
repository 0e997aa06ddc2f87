import type { DataType } from '@uwdata/flechette'
import type { Expression } from '../syntax/syntax.ts'
import { numericType } from './coerce.ts'
import { fold, isLiteral } from './fold.ts'
import { literal, literalAs } from './literals.ts'
import { commonType, condition, unsupportedType } from './operators.ts'
import type { CasePlan, Plan } from './plan.ts'
import { cast, refuse, type Scope } from './scope.ts'
import { isDecimal, isFloat, isNull, isReadable, none, sameType, typeName } from './types.ts'

type CaseExpression = Extract<Expression, { kind: 'case' }>

/** `CASE … END`; `bound` binds its parts. */
export function casePlan(scope: Scope, given: CaseExpression, bound: (part: Expression) => Plan): Plan {
  const { at } = given
  const operand = given.operand && bound(given.operand)
  const whens = given.branches.map(({ when }) => bound(when))
  const results = given.branches.map(({ result }) => bound(result))
  const otherwise = given.otherwise ? bound(given.otherwise) : literal(none, null)
  const type = valueType(scope, [...results, otherwise], at)
  const value = (plan: Plan, part: Expression) => fitted(scope, plan, type, part.at)
  const compared = operand && whenType(scope, operand, whens, at)
  const when = (plan: Plan, part: Expression) =>
    compared ? cast(scope, plan, compared, part.at) : condition(scope, plan, part.at, 'WHEN')
  const plan: CasePlan = {
    kind: 'case',
    type,
    operand: operand && compared && cast(scope, operand, compared, at),
    branches: given.branches.map((branch, i) => ({
      when: when(whens[i]!, branch.when),
      result: value(results[i]!, branch.result),
    })),
    otherwise: fitted(scope, otherwise, type, at),
  }
  return fold(plan)
}

/** The type in which the operand is compared. Literals take its type if they can. */
function whenType(scope: Scope, operand: Plan, whens: readonly Plan[], at: number): DataType {
  let { type } = operand
  if (!isReadable(type)) throw unsupportedType(scope, type, at)
  for (const when of whens) {
    const known = isLiteral(when) && !isNull(type) ? literalAs(when, type) : undefined
    if (!known) type = commonType(scope, type, when.type, at)
  }
  return type
}

/**
 * The common type of all values. Literals take the type of the others if that has an equal value, so that `CASE WHEN …
 * THEN 0 ELSE x END` has the type of `x`.
 */
function valueType(scope: Scope, values: readonly Plan[], at: number): DataType {
  let type: DataType = none
  const joinType = (plan: Plan) => {
    const common = commonValueType(type, plan.type)
    if (!common) {
      const problem = `CASE with values of type ${typeName(type)} and of type ${typeName(plan.type)}`
      throw refuse(scope, at, problem, 'CAST them to one type.')
    }
    type = common
  }
  for (const plan of values) if (!isLiteral(plan)) joinType(plan)
  for (const plan of values) if (isLiteral(plan) && !(!isNull(type) && literalAs(plan, type))) joinType(plan)
  if (isReadable(type)) return type
  throw unsupportedType(scope, type, at)
}

function commonValueType(a: DataType, b: DataType): DataType | undefined {
  if (isNull(a)) return b
  if (isNull(b) || sameType(a, b)) return a
  if (isFloat(a) && isDecimal(b)) return a
  if (isDecimal(a) && isFloat(b)) return b
  return numericType(a, b)
}

function fitted(scope: Scope, plan: Plan, type: DataType, at: number): Plan {
  const known = isLiteral(plan) && !isNull(plan.type) && !isNull(type) ? literalAs(plan, type) : undefined
  return known ?? cast(scope, plan, type, at)
}
