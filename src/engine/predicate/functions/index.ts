import { nearest } from '../../../base/model/nearest.ts'
import type { Plan } from '../plan/plan.ts'
import { refuse, type Scope } from '../plan/scope.ts'
import { choiceFunctions } from './choice.ts'
import { listChangeFunctions } from './list-changes.ts'
import { listFunctions } from './lists.ts'
import { mathFunctions } from './math.ts'
import { regexpFunctions } from './regexp.ts'
import type { FunctionPlanner } from './signature.ts'
import { textFunctions } from './text.ts'
import { textPartFunctions } from './text-parts.ts'
import { timeFunctions } from './time.ts'

const functions: Record<string, FunctionPlanner> = {
  ...choiceFunctions,
  ...textFunctions,
  ...textPartFunctions,
  ...regexpFunctions,
  ...mathFunctions,
  ...timeFunctions,
  ...listFunctions,
  ...listChangeFunctions,
}

/** The plan of a call; the function's name may be in any case. */
export function planCall(scope: Scope, name: string, args: readonly Plan[], at: number): Plan {
  const known = name.toLowerCase()
  if (Object.hasOwn(functions, known)) return functions[known]!({ scope, name: known, args, at })
  const near = nearest(known, Object.keys(functions))
  const hint = near === undefined ? 'Use one of the functions of the language.' : `Did you mean ${near}?`
  throw refuse(scope, at, `an unknown function ${JSON.stringify(name.slice(0, 64))}`, hint)
}
