import type { Expression } from '../syntax/syntax.ts'
import { mapInSteps } from '../work.ts'
import { comparisonType } from './coerce.ts'
import { isLiteral } from './fold.ts'
import { literal, numberLiteral } from './literals.ts'
import type { LiteralPlan, Scalar } from './plan.ts'
import { cast, refuse, type Scope } from './scope.ts'
import { boolean, bytes, listOf, none, text, typeName } from './types.ts'

type LiteralExpression = Extract<
  Expression,
  { kind: 'null' | 'boolean' | 'string' | 'hex' | 'number' | 'list' }
>

/** Whether an expression is a literal. */
export function isLiteralExpression(expression: Expression): expression is LiteralExpression {
  switch (expression.kind) {
    case 'null':
    case 'boolean':
    case 'string':
    case 'hex':
    case 'number':
    case 'list':
      return true
    default:
      return false
  }
}

export function bindLiteral(scope: Scope, expression: LiteralExpression): LiteralPlan {
  switch (expression.kind) {
    case 'null':
      return literal(none, null)
    case 'boolean':
      return literal(boolean, expression.value)
    case 'string':
      return literal(text, expression.value)
    case 'hex':
      return literal(bytes, expression.value)
    case 'number':
      return numberLiteral(expression.text)
    case 'list':
      return listLiteral(scope, expression.items)
  }
}

/** `[1, 2, 3]`: literals of the first one's type. */
function listLiteral(scope: Scope, items: readonly Expression[]): LiteralPlan {
  const values: Scalar[] = []
  let type = none as LiteralPlan['type']
  const bound = mapInSteps(items, (item) => {
    if (isLiteralExpression(item) && item.kind !== 'list') return bindLiteral(scope, item)
    throw refuse(
      scope,
      item.at,
      'something else than a literal in a list',
      'Use make_array(…) for expressions.',
    )
  })
  for (const [i, item] of bound.entries()) {
    const common = comparisonType(type, item.type)
    if (!common) {
      const problem = `a list of ${typeName(type)} with a ${typeName(item.type)} in it`
      throw refuse(scope, items[i]!.at, problem, 'Give all items of a list the same type.')
    }
    type = common
  }
  for (const [i, item] of bound.entries()) {
    const value = cast(scope, item, type, items[i]!.at)
    values.push(isLiteral(value) ? value.value : null)
  }
  return literal(listOf(type), values)
}
