/*
 * Generated loops over the rows of a slice that write a bitmap, with the 32 rows of a word unrolled. A loop written by
 * hand takes 1.15 to 1.5 times as long. Only constants of this folder become code: input of a caller, such as the
 * literals of a predicate, is passed to the loop as an argument.
 */

let generates: boolean | undefined

/** Whether the runtime allows programs to compile functions from text. If not, callers take another path. */
export function mayGenerate(): boolean {
  if (generates !== undefined) return generates
  try {
    functionOf([], '')
    generates = true
  } catch {
    generates = false
  }
  return generates
}

const loops = new Map<string, unknown>()

/**
 * The loop for this row text, generated once; undefined if the runtime forbids that. Only for a small number of
 * different texts, as all are kept. The key includes the text, so two callers never share a loop by mistake.
 */
export function generated<Loop>(parameters: string, row: string, before = '', after = ''): Loop | undefined {
  if (!mayGenerate()) return undefined
  const key = [parameters, before, row, after].join('\n')
  const loop = loops.get(key) ?? generate<Loop>(parameters, row, before, after)
  loops.set(key, loop)
  return loop as Loop
}

/**
 * Generates a loop over `n` rows. `row` is the text of a statement that sets bit `$b` of `w` for the row `$i`. Each
 * word is written to `out`, cut to the bits `m` of `need`; words without a needed row are skipped. `before` and `after`
 * run for each word. The loop returns `seen`, to which rows may add bits.
 *
 * There is no branch for a row: a mispredicted one costs more than a comparison.
 */
export function generate<Loop>(parameters: string, row: string, before = '', after = ''): Loop {
  const at = (index: string, bit: string) => row.replaceAll('$i', index).replaceAll('$b', bit)
  let unrolled = ''
  for (let bit = 0; bit < 32; bit++) unrolled += at(bit === 0 ? 'i' : `i+${bit}`, String(bit))
  const body = `
    let seen = 0
    for (let i = 0, q = 0; i < n; i += 32, q++) {
      const m = need[q]
      if (m === 0) { out[q] = 0; continue }
      let w = 0
      ${before}
      if (i + 32 <= n) { ${unrolled} }
      else for (let j = 0; i + j < n; j++) { ${at('(i+j)', 'j')} }
      ${after}
      out[q] = w & m
    }
    return seen`
  return functionOf<Loop>(['n', 'need', 'out', ...parameters.split(',')], body)
}

const maxKept = 64
const kept = new Map<string, unknown>()

/** As `generated`, for texts without limit, such as formulas: of many functions, the first ones are dropped. */
export function keptFunction<F>(key: string, make: () => F): F {
  let known = kept.get(key)
  if (known === undefined) {
    known = make()
    if (kept.size >= maxKept) kept.delete(kept.keys().next().value!)
    kept.set(key, known)
  }
  return known as F
}

/** `v0`, `v1` … */
export function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => name + i)
}

/** Compiles a function from text. No other place turns text into code. */
export function functionOf<F>(parameters: readonly string[], body: string): F {
  return new Function(...parameters, body) as F
}
