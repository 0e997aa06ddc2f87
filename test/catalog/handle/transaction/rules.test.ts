import { describe, test } from 'vitest'
import { openCatalog } from '../../../../src/tabularium/index.ts'
import { transactionSuite } from '../../../../src/testing/index.ts'
import { overHttp } from '../../../client/over-http.ts'
import { freshFolder } from '../../../support/catalogs.ts'

transactionSuite({ describe, test }, () => openCatalog('memory:'), { name: 'transactions in memory' })
transactionSuite({ describe, test }, async () => openCatalog(await freshFolder()), {
  name: 'transactions on disk',
})
transactionSuite({ describe, test }, async () => overHttp(await openCatalog('memory:')), {
  name: 'transactions over HTTP',
})
