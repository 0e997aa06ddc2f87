import { expect, test } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { isRefusal, type Known, refusals } from './reference/known.ts'
import { type Answer, reasons } from './reference/known-answers.ts'
import { openReference } from './reference/reference.ts'
import { randomTable } from './reference/rows.ts'
import { answersOf, openBoth } from './reference/value-judge.ts'
import { select } from './table.ts'

/*
 * Each rule about known differences is tried with an example: there the reference differs as the rule says, and no
 * other rule says so.
 */

const table = randomTable(900_111, 40)

/** Whether the values or the errors of both sides differ. */
function differs(expected: Answer, found: Answer): boolean {
  if ('error' in expected || 'error' in found) return 'error' in expected !== 'error' in found
  return JSON.stringify(expected) !== JSON.stringify(found)
}

test('every known refusal of one side is one, and needs its rule', async () => {
  await using both = await openBoth(table)
  await using reference = await openReference(table)
  const wrong: string[] = []
  for (const { example } of refusals) {
    // As a value or, if that is none, as a predicate.
    const values = await answersOf(both, example)
    const answers = differs(values.expected, values.found)
      ? values
      : { expected: await reference.ask(example), found: selected(example) }
    const said = refusals.filter((rule) => isRefusal(rule, example, answers.expected, answers.found))
    if (said.length !== 1 || said[0]!.example !== example)
      wrong.push(`${example}\n  ${JSON.stringify(answers).slice(0, 400)}${named(said)}`)
  }
  expect(wrong.join('\n')).toBe('')
})

function selected(text: string): Answer {
  try {
    return { ids: select(table, text) }
  } catch (error) {
    if (error instanceof CatalogError) return { error: error.message }
    throw error
  }
}

function named(others: readonly Known[]): string {
  return others.map(({ example }) => `\n  as ${example}`).join('')
}

test('every reason why answers differ is one, and needs its rule', async () => {
  await using both = await openBoth(table)
  const wrong: string[] = []
  for (const [name, { is, examples }] of Object.entries(reasons)) {
    for (const example of examples) {
      const { expected, found } = await answersOf(both, example)
      const said = Object.values(reasons).filter((reason) => reason.is(example, expected, found, table))
      if (!differs(expected, found) || said.length !== 1 || said[0]!.is !== is)
        wrong.push(`${name}: ${example}\n  ${JSON.stringify({ expected, found }).slice(0, 600)}`)
    }
  }
  expect(wrong.join('\n')).toBe('')
})

test('no rule excuses answers that are the same, or a refusal without its reason', () => {
  const rows = { ids: [1, 2] }
  for (const { is } of Object.values(reasons))
    expect(is('i = 1', rows, { ids: [1, 2, 3] }, table)).toBe(false)
  const refused = { error: 'Execution error: something else' }
  for (const rule of refusals) {
    expect(isRefusal(rule, rule.example, refused, rows), rule.example).toBe(false)
    expect(isRefusal(rule, rule.example, rows, refused), rule.example).toBe(false)
    expect(isRefusal(rule, rule.example, rows, rows), rule.example).toBe(false)
  }
})
