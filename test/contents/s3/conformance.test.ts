import { describe, test } from 'vitest'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { catalogSuite } from '../../../src/testing/suites/catalog-suite.ts'
import { s3Place } from './server.ts'

const place = await s3Place()

if (typeof place === 'string') test.skip(`S3 is not tried: ${place}`)
else {
  const url = place.freshUrl()
  const catalog = await openCatalog({ store: memoryStore(), content: url })
  catalogSuite(
    { describe, test },
    () =>
      new Proxy(catalog, {
        get: (target, name) => (name === 'close' ? undefined : Reflect.get(target, name)),
      }),
    { name: 'a catalog with its rows in S3' },
  )
}
