import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { icebergRest } from '../../../src/iceberg/index.ts'
import { serve } from '../../../src/server/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { s3Place } from '../../contents/s3/server.ts'
import { signAgain } from '../../contents/sign-again.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { limitEach } from '../../support/time-limit.ts'
import { runFlow } from './flow.ts'
import { pythonOf } from './programs.ts'

/* A client that has no credentials for S3, and whose requests the catalog signs. */

// Packages are fetched at the first run.
limitEach(300)

/** Stands before a server of S3 that takes all requests, and refuses those whose signature is wrong or missing. */
async function strictS3(target: string) {
  const accepted = { read: 0, written: 0 }
  let refused = 0
  const server = createServer((incoming, outgoing) => {
    const { method = '', headers } = incoming
    const signed = { ...headers }
    signAgain(method, new URL(incoming.url!, target), signed)
    if (headers.authorization === undefined || signed.authorization !== headers.authorization) {
      refused++
      incoming.resume()
      outgoing.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>')
      return
    }
    if (headers['x-amz-content-sha256'] === 'UNSIGNED-PAYLOAD')
      accepted[method === 'GET' || method === 'HEAD' ? 'read' : 'written']++
    const passed = request(new URL(incoming.url!, target), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accepted,
    refused: () => refused,
  }
}

it('PyIceberg without credentials writes and reads tables in S3', async ({ skip }) => {
  const place = await s3Place()
  if (typeof place === 'string') return skip(place)
  const found = await pythonOf('signing')
  if (typeof found === 'string') return skip(found)
  const { endpoint, accepted, refused } = await strictS3(place.endpoint)
  await using catalog = await openCatalog(await freshFolder(), { content: place.freshUrl(endpoint) })
  await using server = await serve(catalog, { auth: false, port: 0, mounts: [icebergRest(catalog)] })
  const target = { url: `${server.url}/iceberg`, warehouse: await freshFolder() }
  const variables = { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined }
  const steps = await runFlow(found.python, 'signing_flow.py', target, {
    args: [endpoint],
    variables,
    timeout: 250_000,
  })
  expect(steps.filter(({ ok }) => !ok)).toEqual([])
  expect(steps).toHaveLength(10)
  expect(accepted.read).toBeGreaterThan(20)
  expect(accepted.written).toBeGreaterThan(10)
  expect(refused()).toBe(0)
})
