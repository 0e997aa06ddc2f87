/**
 * Loops over the rows of a slice that write a bitmap, compiled from the templates of this folder.
 *
 * Closures made by one function literal share what V8 learns of their types, so a loop written once and fed
 * with all kinds of arrays and operators is several times slower than one that has only ever seen one kind.
 * Writing the operator's result with `+(…)` and unrolling the 32 rows of a word keeps the loop free of
 * branches: 0.9 ns for each row of an Int32Array against 6.5 ns for `? 1 : 0`, whose branch is mispredicted.
 *
 * `body` is made once for each `key`. Every text that gets here is put together from constants in these files. What a caller gave, such as the
 * literals of a predicate, is passed to the compiled function as an argument.
 */
export function compile<F>(key: string, parameters: string, body: () => string): F {
  const known = compiled.get(key)
  if (known !== undefined) return known as F
  const fresh = new Function(...parameters.split(','), body()) as F
  compiled.set(key, fresh as (...args: never) => unknown)
  return fresh
}

const compiled = new Map<string, (...args: never) => unknown>()

/**
 * The body of a loop over `n` rows: `row` is the text of a statement that sets bit `$b` of `w` for the row
 * `$i`. It ends with the word's bits in `out`, cut to those of `need`; words without a needed row are skipped.
 * `before` and `after` run for each word.
 */
export function eachWord(row: string, before = '', after = ''): string {
  const at = (index: string, bit: string) => row.replaceAll('$i', index).replaceAll('$b', bit)
  let unrolled = ''
  for (let bit = 0; bit < 32; bit++) unrolled += at(bit === 0 ? 'i' : `i+${bit}`, String(bit))
  return `
    for (let i = 0, q = 0; i < n; i += 32, q++) {
      const m = need[q]
      if (m === 0) { out[q] = 0; continue }
      let w = 0
      ${before}
      if (i + 32 <= n) { ${unrolled} }
      else for (let j = 0; i + j < n; j++) { ${at('(i+j)', 'j')} }
      ${after}
      out[q] = w & m
    }`
}
