import { randomUUID } from 'node:crypto'
import { Storage } from '@google-cloud/storage'
import { afterAll } from 'vitest'
import { bucketSuite } from '../bucket/suite.ts'
import type { Fault } from '../faulty-proxy.ts'
import { gcsStandIn } from './stand-in.ts'

const standIn = await gcsStandIn('rows')
afterAll(() => standIn.close())
const bucket = new Storage({ apiEndpoint: standIn.url }).bucket('rows')

const answerOf = (status: number, message: string): Fault => ({
  kind: 'answer',
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ error: { code: status, message, errors: [{ message }] } }),
})

bucketSuite({
  name: 'Google Cloud Storage',
  endpoint: standIn.url,
  freshUrl: (server = standIn.url) => `gs://rows/${randomUUID()}?endpoint=${encodeURIComponent(server)}`,
  plant: (key, body) => bucket.file(key).save(body, { resumable: false }),
  isPut: ({ method }) => method === 'POST',
  isGet: ({ query }) => query.get('alt') === 'media',
  dropCondition: ({ query }) => query.delete('ifGenerationMatch'),
  shortenPage: ({ path, query }) => path.endsWith('/o') && query.set('maxResults', '10'),
  busy: answerOf(503, 'busy'),
  undecided: answerOf(409, 'The object was changed during the operation.'),
  refusals: [
    [
      answerOf(404, 'The specified bucket does not exist.'),
      'InvalidInput',
      /there is no bucket rows\. Create it/,
    ],
    [answerOf(403, 'Bearer ya29.secret may not'), 'PermissionDenied', /forbids it \(403\)\. Give the role/],
    [answerOf(418, 'teapot'), 'Internal', /answered 418\. See the cause/],
  ],
  secrets: /secret/,
  sayings: {
    busy: /cannot answer now \(503\)\. Try again later\.$/,
    unreachable: /cannot be reached \(ECONNREFUSED\)\. Check the network, and try again\.$/,
  },
  // Its client waits for a second, then two, four and eight.
  races: 4,
})
