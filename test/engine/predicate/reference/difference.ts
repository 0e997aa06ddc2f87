/** Where two that judge a predicate or an expression disagree. */
export interface Difference {
  /** Whether both answer, and otherwise, or one of them refuses what the other one answers. */
  readonly kind: 'answer' | 'refusal'
  /** What was asked and said, with all it takes to look into it. */
  readonly text: string
}

/** Of which kind it is that these answers differ. */
export function kindOf(expected: object, found: object): Difference['kind'] {
  return 'error' in expected !== 'error' in found ? 'refusal' : 'answer'
}

/** Those that are said in the fewest words come first. */
export function byLength(differences: readonly Difference[]): Difference[] {
  return differences.toSorted((a, b) => a.text.length - b.text.length)
}

/** The first differences, as a test prints them. */
export function textOf(differences: readonly Difference[]): string {
  return differences
    .slice(0, 40)
    .map(({ text }) => text)
    .join('\n')
}
