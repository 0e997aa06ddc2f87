import { describe, test } from 'vitest'
import { openCatalog } from '../../src/index.ts'
import { catalogSuite } from '../../src/testing/suites/catalog-suite.ts'

catalogSuite({ describe, test }, () => openCatalog('memory:'), { name: 'a catalog in memory' })
