import type { Bitmap } from '../../../arrow/bitmap.ts'
import type { Frame } from '../../evaluate/frame.ts'
import type { ValueNode } from '../../evaluate/node.ts'
import type { Vector } from '../../evaluate/vector.ts'
import type { CallPlan } from '../../plan/plan.ts'
import { doubleFunction } from './doubles.ts'
import { listHas } from './list-has.ts'
import { textLength } from './text-length.ts'

export { stepFunction, stepsOf } from './steps.ts'

/** The values of a call for a slice; undefined when its arguments do not lie in memory as the loop needs it. */
export type FastCall = (frame: Frame, need: Bitmap) => Vector | undefined

/** A loop over whole arrays for a call, where there is one; for one by steps, `stepFunction` makes it. */
export function kernelOf(plan: CallPlan, args: readonly ValueNode[]): FastCall | undefined {
  const { kernel } = plan.function
  switch (kernel?.kind) {
    case 'textLength':
      return textLength(plan.type, kernel.of, args[0]!)
    case 'double':
      return doubleFunction(plan.function.name, kernel.apply, plan.type, args[0]!)
    case 'listHas':
      return listHas(plan.type, kernel.item, args[0]!, args[1]!)
    default:
      return undefined
  }
}
