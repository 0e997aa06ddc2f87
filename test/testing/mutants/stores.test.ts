import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import type { StorePlace } from '../../../src/testing/suites/store/trial.ts'
import { storeSuite } from '../../../src/testing/suites/store-suite.ts'
import { collect, failureOf } from './run-cases.ts'
import { brokenPlaces, brokenStores } from './stores.ts'

const casesOf = (place: () => StorePlace) => collect((runner) => storeSuite(runner, place))
const sound = casesOf(() => ({ open: memoryStore }))

describe('the suite of stores notices a store that', () => {
  const mutants = [
    ...brokenStores.map(([name, rule, make]) => [name, rule, () => ({ open: make })] as const),
    ...brokenPlaces,
  ]
  test.each(mutants)('%s, by %s', async (_name, rule, place) => {
    expect(await failureOf(sound, rule)).toBeUndefined()
    expect(await failureOf(casesOf(place), rule)).toContain(`${rule} (`)
  })
})
