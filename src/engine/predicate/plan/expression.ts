import { type DataType, type Field, type Schema, Type } from '@uwdata/flechette'
import { typeName as exactName } from '../../arrow/type-name.ts'
import { foldInSteps } from '../evaluate/fold.ts'
import { parseValue } from '../syntax/parser.ts'
import { kept } from '../work.ts'
import { assigned } from './assign.ts'
import { checkedDecimal } from './decimal-arithmetic.ts'
import { bindFilter } from './filter.ts'
import { isNullable } from './nullable.ts'
import type { Plan } from './plan.ts'
import { refuse, type Scope } from './scope.ts'
import { isNull, isReadable, typeName } from './types.ts'

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
