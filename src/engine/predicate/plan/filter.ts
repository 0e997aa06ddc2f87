import { type DataType, type Schema, Type } from '@uwdata/flechette'
import { wallClock } from '../../../base/time.ts'
import { foldInSteps } from '../evaluate/fold.ts'
import { parsePredicate } from '../syntax/parser.ts'
import type { Expression } from '../syntax/syntax.ts'
import { kept, mapInSteps } from '../work.ts'
import { binaryPlan, bind, keptBound } from './bind.ts'
import { casePlan } from './case.ts'
import { bindLiteral, isLiteralExpression } from './literal-syntax.ts'
import { literalAs } from './literals.ts'
import { betweenPlan, inPlan, logicPlan } from './operators.ts'
import type { Plan } from './plan.ts'
import { refuse, type Scope } from './scope.ts'
import { isBoolean, typeName } from './types.ts'

/**
 * Parses a predicate and binds it to a schema. Refuses other syntax, unknown columns and mixed types as `InvalidInput`,
 * with the position, the problem and what to write instead. The plan is folded.
 */
export function planPredicate(text: string, schema: Schema, now: () => number = wallClock): Plan {
  const expression = kept(parsePredicate, () => parsePredicate(text))
  const scope: Scope = { text, schema, now, wanted: 'condition' }
  const plan = kept(planPredicate, () => bindFilter(scope, expression))
  if (isBoolean(plan.type)) return kept(foldInSteps, () => foldInSteps(plan))
  const problem = `a predicate of type ${plan.type.typeId === Type.Null ? 'null' : typeName(plan.type)}`
  throw refuse(scope, expression.at, problem, 'Write a condition, such as a comparison or a bool column.')
}

/**
 * Binds a condition on rows, down through ANDs and ORs. There, as in the reference, a literal beside a column must be
 * of the column's kind. Everywhere else both sides are cast to a common type.
 */
export function bindFilter(scope: Scope, expression: Expression): Plan {
  return keptBound(expression, () => bindCondition(scope, expression))
}

function bindCondition(scope: Scope, expression: Expression): Plan {
  const { at } = expression
  switch (expression.kind) {
    case 'and':
    case 'or':
      return logicPlan(
        scope,
        expression.kind,
        mapInSteps(expression.args, (arg) => bindFilter(scope, arg)),
        at,
      )
    case 'binary': {
      const { left, right } = expression
      if (isField(left)) {
        const column = bind(scope, left)
        const value = isOperator(right) || isLiteralExpression(right)
        return binaryPlan(
          scope,
          expression,
          column,
          value ? besideColumn(scope, right, column.type) : bind(scope, right),
        )
      }
      if (isField(right) && isLiteralExpression(left)) {
        const column = bind(scope, right)
        return binaryPlan(scope, expression, besideColumn(scope, left, column.type), column)
      }
      return bind(scope, expression)
    }
    case 'between': {
      const { arg, low, high, negated } = expression
      if (!isField(arg)) return bind(scope, expression)
      const column = bind(scope, arg)
      const { type } = column
      return betweenPlan(
        scope,
        column,
        besideColumn(scope, low, type),
        besideColumn(scope, high, type),
        negated,
        at,
      )
    }
    case 'in': {
      const { arg, items, negated } = expression
      if (arg.kind !== 'name' || arg.parts.length > 1) return bind(scope, expression)
      const column = bind(scope, arg)
      const values = mapInSteps(items, (item) => besideColumn(scope, item, column.type))
      return inPlan(scope, column, values, negated, at)
    }
    case 'case':
      return casePlan(scope, expression, (part) => bindFilter(scope, part))
    default:
      return bind(scope, expression)
  }
}

/** Binds the operand beside a column: literals, also those within operators, take the column's type. */
function besideColumn(scope: Scope, expression: Expression, type: DataType): Plan {
  return keptBound(expression, () => bindBesideColumn(scope, expression, type))
}

function bindBesideColumn(scope: Scope, expression: Expression, type: DataType): Plan {
  if (isLiteralExpression(expression)) {
    const value = bindLiteral(scope, expression)
    const converted = literalAs(value, type)
    if (converted) return converted
    const written = scope.text.slice(expression.at, Math.min(expression.end, expression.at + 40))
    const problem = `a column of type ${typeName(type)} beside the ${typeName(value.type)} literal ${written}, which is`
    const remedy = `Write a literal ${exampleOf(type)}, or CAST the column.`
    throw refuse(scope, expression.at, problem, remedy)
  }
  if (expression.kind === 'binary') {
    const left = besideColumn(scope, expression.left, type)
    return binaryPlan(scope, expression, left, besideColumn(scope, expression.right, type))
  }
  if (expression.kind === 'and' || expression.kind === 'or') {
    const args = mapInSteps(expression.args, (arg) => besideColumn(scope, arg, type))
    return logicPlan(scope, expression.kind, args, expression.at)
  }
  return bind(scope, expression)
}

/** An example of a literal of a type, as the end of "Write a literal". */
function exampleOf(type: DataType): string {
  switch (type.typeId) {
    case Type.Bool:
      return 'such as true'
    case Type.Int:
      return 'that is a whole number, such as 5'
    case Type.Float:
    case Type.Decimal:
      return 'that is a number, such as 1.5'
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Utf8View:
      return "that is text, such as 'abc'"
    case Type.Binary:
    case Type.LargeBinary:
    case Type.BinaryView:
    case Type.FixedSizeBinary:
      return "of bytes, such as X'0a1b'"
    case Type.Date:
      return "such as DATE '2024-01-31'"
    case Type.Timestamp:
      return `such as TIMESTAMP '2024-01-31 12:00:00${type.timezone == null ? '' : 'Z'}'`
    case Type.Dictionary:
      return exampleOf(type.dictionary)
    default:
      return `of type ${typeName(type)}`
  }
}

function isOperator(expression: Expression): boolean {
  return expression.kind === 'binary' || expression.kind === 'and' || expression.kind === 'or'
}

/** Whether an expression is a column or a field of one. */
function isField(expression: Expression): boolean {
  if (expression.kind === 'name') return true
  if (expression.kind === 'field') return isField(expression.arg)
  if (expression.kind !== 'call' || expression.name.toLowerCase() !== 'get_field') return false
  return expression.args.length === 2 && isField(expression.args[0]!)
}
