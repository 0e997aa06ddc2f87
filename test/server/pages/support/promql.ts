/** What an expression of Prometheus reads: metrics, and the labels by which it chooses and groups. */
export interface Reads {
  readonly metrics: readonly string[]
  readonly labels: readonly { readonly metric: string; readonly label: string }[]
  /** Labels of `by` and `on`. */
  readonly grouped: readonly string[]
}

const words = new Set(['by', 'on', 'and', 'or', 'unless', 'without', 'ignoring', 'sum', 'max', 'min', 'avg'])

/** Reads an expression. Every name in it that is no function, keyword or label counts as a metric. */
export function readsOf(expression: string): Reads {
  const metrics: string[] = []
  const labels: { metric: string; label: string }[] = []
  const grouped: string[] = []
  const rest = expression.replace(/\b(by|on)\s*\(([^)]*)\)/g, (_, word: string, names: string) => {
    grouped.push(...names.split(',').map((name) => name.trim()))
    return word
  })
  const named = /([a-zA-Z_][a-zA-Z_0-9]*)\s*(\(|\{[^}]*\})?/g
  // Durations, numbers and variables are no names.
  const bare = rest.replace(/\[[^\]]*\]/g, '').replace(/\b\d[\w.]*/g, '')
  for (const [, name, behind = ''] of bare.matchAll(named)) {
    if (behind === '(' || words.has(name!)) continue
    metrics.push(name!)
    for (const [, label] of behind.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g))
      labels.push({ metric: name!, label: label! })
  }
  return { metrics, labels, grouped }
}
