import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { openContent } from '../../../src/tabularium/index.ts'
import { refused } from '../../../src/testing/suites/checks.ts'
import { bucketSuite } from '../bucket/suite.ts'
import type { Fault } from '../faulty-proxy.ts'
import { azurePlace } from './server.ts'

const place = await azurePlace()

const answerOf = (status: number, code: string): Fault => ({
  kind: 'answer',
  status,
  headers: { 'x-ms-error-code': code },
  body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>see ?sv=1&amp;sig=c2VjcmV0</Message></Error>`,
})

bucketSuite(
  typeof place === 'string'
    ? place
    : {
        ...place,
        name: 'Azure',
        isPut: ({ method }) => method === 'PUT',
        isGet: ({ method, query }) => method === 'GET' && !query.has('comp'),
        dropCondition: ({ headers }) => delete headers['if-none-match'],
        shortenPage: ({ query }) => query.get('comp') === 'list' && query.set('maxresults', '10'),
        busy: answerOf(503, 'ServerBusy'),
        refusals: [
          [answerOf(404, 'ContainerNotFound'), 'InvalidInput', /there is no such container\. Create it/],
          [
            answerOf(403, 'AuthorizationPermissionMismatch'),
            'PermissionDenied',
            /forbids it.*Storage Blob Data/,
          ],
          [
            answerOf(403, 'AuthenticationFailed'),
            'PermissionDenied',
            /refuses the credentials.*set the clock/,
          ],
          [answerOf(418, 'Teapot'), 'Internal', /answered Teapot\. See the cause/],
        ],
        secrets: /c2VjcmV0|Eby8vdM02|SharedKey /,
        sayings: {
          busy: /cannot answer now \(ServerBusy, 503\)\. Try again later\.$/,
          unreachable: /cannot be reached \(.*ECONNREFUSED.*\)\. Check the endpoint, and try again\.$/,
        },
        races: 10,
      },
)

test('what is missing in the environment or wrong in the URL is said', async () => {
  const wrong = [
    ['az://rows/x', /No account of Azure Storage is given\. Set AZURE_STORAGE_ACCOUNT/],
    ['az://rows/x?region=y', /parameter "region", which nobody reads. It takes account, endpoint/],
    ['az://rows/x?account=a&endpoint=nowhere', /endpoint of the content is not the plain URL/],
  ] as const
  for (const [given, message] of wrong) {
    expect((await refused(openContent(given), 'InvalidInput')).message).toMatch(message)
  }
  process.env.AZURE_STORAGE_CONNECTION_STRING = 'AccountKey=secret'
  try {
    const error = await refused(openContent('az://rows/x'), 'InvalidInput')
    expect(inspect(error, { depth: 9 })).not.toMatch(/secret/)
  } finally {
    delete process.env.AZURE_STORAGE_CONNECTION_STRING
  }
})
