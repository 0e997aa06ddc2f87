import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type OperationName, operations } from '../../src/catalog/operations/index.ts'
import { type ClientOptions, connect } from '../../src/client/index.ts'
import { eventStreamType, eventText } from '../../src/protocol/events.ts'
import type { Catalog } from '../../src/tabularium/index.ts'
import { Draw } from '../support/draw.ts'
import { whileCollecting } from '../support/garbage.ts'
import { fails } from '../support/refusals.ts'
import { validRequest } from '../support/valid-requests.ts'

/* What ends a call ends it, even when the garbage collector has removed everything that nobody holds. */

/** A client of a server that answers like this. */
async function clientOf(
  answer: RequestListener,
  options: ClientOptions,
): Promise<{ readonly catalog: Catalog; readonly server: Server }> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const catalog = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, options)
  return { catalog, server }
}

const world = {
  tables: [['t']],
  namespaces: [['n']],
  columns: { numbers: ['x'], texts: ['s'] },
  data: new Uint8Array(8),
}

describe.each<[string, RequestListener]>([
  ['that says nothing', () => {}],
  [
    'that does not end its answer',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{')
    },
  ],
])('a server %s', (_, answer) => {
  it('is given up after the timeout', async () => {
    const { catalog } = await clientOf(answer, { timeout: 100, rowTimeout: 100 })
    for (const asked of [catalog.listTables({ id: [] }), catalog.queryTable({ id: ['t'] })])
      await whileCollecting(fails(asked, 'ServiceUnavailable', 'did not answer within 100 ms'))
  })

  it('is given up when the caller cancels, whatever the operation', async () => {
    const { catalog } = await clientOf(answer, { timeout: 0 })
    const draw = new Draw(20_261_126)
    const asked = (Object.keys(operations) as OperationName[]).map((name) => {
      const call = catalog[name] as (request: unknown, options: object) => Promise<unknown>
      return call(validRequest(name, world, draw), { signal: AbortSignal.timeout(100) })
    })
    const outcomes = await whileCollecting(Promise.allSettled(asked))
    const reasons = outcomes.map((outcome) => 'reason' in outcome && outcome.reason.name)
    expect(reasons).toEqual(asked.map(() => 'TimeoutError'))
  })
})

it('a watch that ends closes its connection', async () => {
  let asked = 0
  let closed = 0
  const { catalog } = await clientOf((_, response) => {
    asked++
    response.on('close', () => closed++)
    response.writeHead(200, { 'content-type': eventStreamType })
    response.write(eventText('token', 'first', { token: 'first' }))
  }, {})
  // A busy machine that collects garbage all the time may not have asked by then.
  for (let millis = 200; asked === 0; millis *= 2) {
    const next = catalog.watch({ signal: AbortSignal.timeout(millis) }).next()
    await whileCollecting(expect(next).rejects.toMatchObject({ name: 'TimeoutError' }))
  }
  await expect.poll(() => closed).toBe(asked)
})
