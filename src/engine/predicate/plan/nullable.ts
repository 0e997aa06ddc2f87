import { type Schema, Type } from '@uwdata/flechette'
import { operandsOf } from '../evaluate/fold.ts'
import type { Plan } from './plan.ts'

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
