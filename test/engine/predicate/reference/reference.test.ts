import fc from 'fast-check'
import { expect, it } from 'vitest'
import { limitEach } from '../../../support/time-limit.ts'
import { textOf } from './difference.ts'
import { differencesToReference, differencesToReferenceOf } from './judges.ts'
import { isMeant, soups } from './soup.ts'

// It asks the reference for hundreds of random predicates.
limitEach(60)

/** How many predicates each table is asked; more, or others, when run by hand. */
const runs = Number(process.env.PREDICATE_RUNS ?? 1_200)
const seed = Number(process.env.PREDICATE_SEED ?? 20_240_229)

it.each([1, 2])(
  'answers random predicates as the reference does (table %i)',
  async (number) => {
    const differences = await differencesToReference(seed + number, runs)
    expect(textOf(differences), `${differences.length} differ`).toBe('')
  },
  runs * 50 + 20_000,
)

it(
  'refuses what is nearly a predicate where the reference does, and reads the rest as it does',
  async () => {
    const texts = fc.sample(soups, { seed: seed + 5, numRuns: runs * 2 })
    const differences = await differencesToReferenceOf(seed + 5, texts, isMeant)
    expect(textOf(differences), `${differences.length} differ`).toBe('')
  },
  runs * 50 + 20_000,
)
