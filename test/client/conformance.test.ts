import { describe, test } from 'vitest'
import { openCatalog } from '../../src/tabularium/index.ts'
import { catalogSuite } from '../../src/testing/suites/catalog-suite.ts'
import { overHttp } from './over-http.ts'

catalogSuite({ describe, test }, async () => overHttp(await openCatalog('memory:')), {
  name: 'a catalog in memory, over HTTP',
})
