import { describe, expect, test } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import type { CatalogUnderTest } from '../../../src/testing/suites/catalog/trial.ts'
import { catalogSuite } from '../../../src/testing/suites/catalog-suite.ts'
import { brokenCatalogs } from './catalogs.ts'
import { collect, failureOf } from './run-cases.ts'

const casesOf = (open: () => Promise<CatalogUnderTest>) => collect((runner) => catalogSuite(runner, open))
const sound = casesOf(() => openCatalog('memory:', { retainDropped: 3_600_000 }))

describe('the suite of catalogs notices a catalog that', () => {
  test.each(brokenCatalogs)('%s, by %s', async (_name, rule, open) => {
    expect(await failureOf(sound, rule)).toBeUndefined()
    expect(await failureOf(casesOf(open), rule)).toContain(`${rule} (`)
  })
})
