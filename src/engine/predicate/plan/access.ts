import { elementFunction } from '../functions/lists.ts'
import { resolveField } from './names.ts'
import type { Plan } from './plan.ts'
import { refuse, type Scope } from './scope.ts'
import { typeName } from './types.ts'

/** A field of a struct value. */
export function fieldPlan(scope: Scope, arg: Plan, name: string, at: number): Plan {
  if (arg.kind === 'column') return resolveField(scope.text, arg, name, at)
  const problem = `the field ${JSON.stringify(name)} of a value of type ${typeName(arg.type)}`
  throw refuse(scope, at, problem, 'Only columns have fields.')
}

/** An element of a list, counted from 1, or from the end if negative. */
export function elementPlan(scope: Scope, arg: Plan, index: Plan, at: number): Plan {
  return elementFunction(scope, [arg, index], at)
}
