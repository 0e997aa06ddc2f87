import fc from 'fast-check'
import { atom } from './atoms.ts'
import { invalid, risky } from './faults.ts'
import { form } from './forms.ts'
import { Maker } from './maker.ts'
import { comparison } from './typed.ts'

/** A predicate of the language, valid or nearly so, that both sides read the same way. */
export const predicates: fc.Arbitrary<string> = fc.gen().map((draw) => {
  const m = new Maker(draw)
  if (m.chance(6)) return risky(m)
  if (m.chance(15)) return form(m)
  if (m.chance(40)) return typed(m)
  const text = m.chance(4) ? invalid(m) : condition(m, 3)
  return decorate(m, text)
})

/** A comparison over columns of any type. Nothing else stands beside it, as it may fail on a row. */
function typed(m: Maker): string {
  const { term, of } = comparison(m)
  return of(term.text)
}

/** Blanks, comments and keywords in small letters mean nothing. */
function decorate(m: Maker, text: string): string {
  let result = text
  if (m.chance(10))
    result = result.replace(/\b(?:AND|OR|NOT|IN|IS|NULL|LIKE|BETWEEN|TRUE|FALSE)\b(?=[^']*$)/, (w) =>
      w.toLowerCase(),
    )
  if (m.chance(5)) result = `  ${result}\n`
  if (m.chance(3)) result = `/* '( */ ${result} -- end`
  return result
}

function condition(m: Maker, depth: number): string {
  if (depth === 0) return atom(m)
  return m.one(
    () => atom(m),
    () => atom(m),
    () => `${condition(m, depth - 1)} AND ${condition(m, depth - 1)}`,
    () => `${condition(m, depth - 1)} OR ${condition(m, depth - 1)}`,
    () => `(${condition(m, depth - 1)})`,
    () => `NOT ${condition(m, depth - 1)}`,
    () => `NOT (${condition(m, depth - 1)})`,
    () => `(${condition(m, depth - 1)}) IS ${m.pick('', 'NOT ')}${m.pick('TRUE', 'FALSE', 'NULL')}`,
    () => `(${condition(m, depth - 1)}) ${m.pick('=', '<>')} (${condition(m, depth - 1)})`,
    () => `(${condition(m, depth - 1)} OR ${atom(m)}) AND ${atom(m)}`,
  )
}
