import { randomUUID } from 'node:crypto'
import { describe, test } from 'vitest'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { openCatalog, openContent } from '../../src/tabularium/index.ts'
import { catalogSuite } from '../../src/testing/suites/catalog-suite.ts'
import { contentSuite } from '../../src/testing/suites/content-suite.ts'

/* Judges a service that somebody has: `TABULARIUM_CONTENT` is the URL of a prefix that the tests may fill. */

const { TABULARIUM_CONTENT: given } = process.env

/** A prefix that nobody has used. */
function freshUrl(): string {
  const [, place, parameters = ''] = /^([^?]*?)\/*(\?.*)?$/.exec(given!)!
  return `${place}/${randomUUID()}${parameters}`
}

describe.runIf(given)('the service of TABULARIUM_CONTENT', () => {
  contentSuite(
    { describe, test },
    () => {
      const url = freshUrl()
      return { open: () => openContent(url) }
    },
    { durable: true },
  )
  catalogSuite({ describe, test }, () => openCatalog({ store: memoryStore(), content: freshUrl() }))
})

test.skipIf(given)('no service is given by TABULARIUM_CONTENT', () => {})
