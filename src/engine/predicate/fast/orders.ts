import type { CompareOperator } from '../plan/plan.ts'

/* Comparisons in the text of generated loops: 1 where `x` is so related to `y`. NaN is equal to itself and above all. */

/** For `y` not NaN. */
export const orderWithNumber: Readonly<Record<CompareOperator, string>> = {
  '=': '+(x===y)',
  '<>': '+(x!==y)',
  '<': '+(x<y)',
  '<=': '+(x<=y)',
  '>': '+!(x<=y)',
  '>=': '+!(x<y)',
}

/** For doubles that may both be NaN. */
export const orderOfDoubles: Readonly<Record<CompareOperator, string>> = {
  '=': '(+(x===y)|+(x!==x)&+(y!==y))',
  '<>': '1^(+(x===y)|+(x!==x)&+(y!==y))',
  '<': '(+(x<y)|+(x===x)&+(y!==y))',
  '<=': '1^(+(y<x)|+(y===y)&+(x!==x))',
  '>': '(+(y<x)|+(y===y)&+(x!==x))',
  '>=': '1^(+(x<y)|+(x===x)&+(y!==y))',
}
