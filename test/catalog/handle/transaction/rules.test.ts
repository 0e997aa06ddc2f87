import { describe, test } from 'vitest'
import { openCatalog } from '../../../../src/tabularium/index.ts'
import { transactionSuite } from '../../../../src/testing/index.ts'
import { overHttp } from '../../../client/over-http.ts'
import { freshFolder } from '../../../support/catalogs.ts'
import { limitEach } from '../../../support/time-limit.ts'

// A rule waits for a turn, which lasts five seconds.
limitEach(60)

transactionSuite({ describe, test }, () => openCatalog('memory:'), { name: 'transactions in memory' })
transactionSuite({ describe, test }, async () => openCatalog(await freshFolder()), {
  name: 'transactions on disk',
})
transactionSuite({ describe, test }, async () => overHttp(await openCatalog('memory:')), {
  name: 'transactions over HTTP',
})
