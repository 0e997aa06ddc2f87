import { expect, test } from 'vitest'
import { differencesAmongUs, differencesToReference } from './reference/judges.ts'
import { valueDifferences, valueDifferencesOf } from './reference/value-judge.ts'

/*
 * A few of the predicates that are drawn without end elsewhere: `npm run soak -- --only predicates`.
 */

const seed = Number(process.env.PREDICATE_SEED ?? 20_240_229)

test('comparisons over columns of all types mean the same to an interpreter, and of the term as a column', () => {
  const differences = differencesAmongUs(seed, 1_000)
  expect(differences.slice(0, 40).join('\n'), `${differences.length} differ`).toBe('')
})

test('predicates answer as the reference does', async () => {
  const differences = await differencesToReference(seed, 1_000)
  expect(differences.slice(0, 40).join('\n'), `${differences.length} differ`).toBe('')
})

test('expressions have the values and the types of the reference', async () => {
  const differences = await valueDifferences(seed, 500)
  expect(differences.slice(0, 40).join('\n'), `${differences.length} differ`).toBe('')
})

// Each of them was drawn once, and differed, over the table of its seed.
test.each([
  [211, 'nullif(CAST(day64 - d AS TIMESTAMP), at_s)'],
  [215, 'coalesce(CAST(-(day64 - d) AS TIMESTAMP), NULL)'],
  [253, "CAST(concat(CAST(u8 AS TIMESTAMP(9)), '-', at_u) AS STRING)::BINARY"],
])('the values of seed %i are those of the reference: %s', async (seed, text) => {
  expect(await valueDifferencesOf(seed, [text])).toEqual([])
})
