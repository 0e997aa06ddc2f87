import { describe, test } from 'vitest'
import { openContent } from '../../../src/tabularium/index.ts'
import { contentSuite } from '../../../src/testing/suites/content-suite.ts'
import { azurePlace } from './server.ts'

const place = await azurePlace()

if (typeof place === 'string') test.skip(`Azure is not tried: ${place}`)
else {
  contentSuite(
    { describe, test },
    () => {
      const url = place.freshUrl()
      return { open: () => openContent(url) }
    },
    { name: 'the content in Azure', durable: true },
  )
}
