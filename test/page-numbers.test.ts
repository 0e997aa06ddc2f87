import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { errorNumbers } from '../src/base/errors.ts'
import { held } from './support/held-numbers.ts'
import others from './support/other-numbers.json' with { type: 'json' }
import {
  countsOfLists,
  meanings,
  numbersOfSource,
  pages,
  proseOf,
  root,
  statements,
} from './support/page-numbers.ts'

/*
 * Numbers of pages go stale: somebody changes a limit, or adds a member, and the page says what was. So each number,
 * in digits or in words, derives from the code, or is compared with it here, or is on a list that says why it need
 * not be.
 */

const reasons = Object.entries(others as Record<string, Record<string, string[]>>)

/** The statements of a page that need not be held, whatever the reason. */
const namedOn = (page: string) => reasons.flatMap(([, byPage]) => byPage[page] ?? [])

describe.each(pages)('numbers of %s', (page) => {
  const prose = proseOf(page)
  const facts = held[page] ?? []

  test.runIf(facts.length > 0).each(facts)('%s', (phrase, from, source?: string) => {
    expect(prose, `${page} does not say this any more: mend test/support/held-numbers.ts`).toContain(phrase)
    if (source !== undefined) expect(readFileSync(join(root, from as string), 'utf8')).toContain(source)
    const numbers = source === undefined ? (from as readonly number[]) : numbersOfSource(source)
    expect(numbers.length).toBeGreaterThan(0)
    const means = meanings(phrase)
    const wrong = means.filter((one, i) => numbers[i] === undefined || !one.includes(numbers[i]))
    expect(wrong, `${page} says "${phrase}", and the code ${numbers.join(' and ')}`).toEqual([])
    expect(means.length).toBe(numbers.length)
  })

  test('each is held by the code, or named with a reason', () => {
    const rest = without(prose, page)
    // A statement is named as the page has it, with the phrases that are held.
    const whole = new Map(statements(prose).map((statement) => [without(statement, page), statement]))
    const allowed = new Set([
      ...namedOn(page),
      ...countsOfLists(prose).flatMap(({ text }) => [`${text}:`, `${text}.`]),
    ])
    const unheld = statements(rest).flatMap((statement) => {
      const text = whole.get(statement) ?? statement
      return allowed.has(text) ? [] : [text]
    })
    expect(
      unheld,
      `These statements of ${page} have numbers that nothing holds. Leave the number out, or take it from the code in ` +
        'test/support/held-numbers.ts. Only what the code does not decide goes to test/support/other-numbers.json.',
    ).toEqual([])
  })

  test('what is named with a reason is there', () => {
    const there = new Set(statements(prose))
    expect(namedOn(page).filter((statement) => !there.has(statement))).toEqual([])
  })

  test.runIf(countsOfLists(prose).length > 0).each(countsOfLists(prose))('$text: $has', ({ says, has }) => {
    expect(has).toBe(says)
  })
})

/** A text without the phrases that are held, in which sentences still begin as they did. */
function without(text: string, page: string): string {
  return (held[page] ?? []).reduce(
    (rest, [phrase]) => rest.replaceAll(phrase, phrase.replace(/^(\D?).*$/, '$1·')),
    text,
  )
}

test('every page with facts is there', () => {
  const named = [...Object.keys(held), ...reasons.flatMap(([, byPage]) => Object.keys(byPage))]
  expect(named.filter((page) => !pages.includes(page))).toEqual([])
})

test('the table of errors has every code', () => {
  const page = readFileSync(join(root, 'docs/operations.md'), 'utf8')
  const rows = page
    .slice(page.indexOf('\n## Errors'))
    .match(/^\| `.*$/gm)!
    .join('\n')
  expect(Object.keys(errorNumbers).filter((code) => !rows.includes(`\`${code}\``))).toEqual([])
})
