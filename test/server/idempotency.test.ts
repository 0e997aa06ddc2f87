import { describe, expect, it } from 'vitest'
import { type ClientOptions, connect } from '../../src/client/index.ts'
import { CatalogError } from '../../src/tabularium/index.ts'
import { fails } from '../support/refusals.ts'
import { arrowRows, arrowStream, serveInMemory } from './support/ask.ts'

const insert = '/v1/table/t/insert'
const body = arrowRows({ a: [1] })

describe('the header idempotency-key', () => {
  const served = async () => {
    const tokens = ['ada', 'eve'].map((name) => ({ token: `a-secret-token-of-${name}`, name }))
    const { ask, catalog, handler } = await serveInMemory({ auth: { tokens } })
    const asUser =
      (name: string, key?: string) =>
      (path: string, body?: unknown, more: Record<string, string> = {}) =>
        ask('POST', path, body, {
          authorization: `Bearer a-secret-token-of-${name}`,
          ...(key !== undefined && { 'idempotency-key': key }),
          ...(body instanceof Uint8Array && arrowStream),
          ...more,
        })
    await catalog.createTable({ id: ['t'], data: arrowRows({ a: [0] }) })
    const count = async () => (await catalog.countTableRows({ id: ['t'] })).count
    return { asUser, catalog, count, handler }
  }

  it('gives the first answer again, to its own caller', async () => {
    const { asUser, count } = await served()
    const first = await asUser('ada', 'k')(insert, body)
    expect(first.status).toBe(200)
    expect((await asUser('ada', 'k')(insert, body)).text).toBe(first.text)
    expect(await count()).toBe(2)
    expect((await asUser('eve', 'k')(insert, body)).text).not.toBe(first.text)
    expect((await asUser('ada')(insert, body)).text).not.toBe(first.text)
    expect(await count()).toBe(4)
  })

  it('answers 422 to another body, another path and another query', async () => {
    const { asUser, count, catalog } = await served()
    await catalog.createTable({ id: ['u'], data: arrowRows({ a: [0] }) })
    await asUser('ada', 'k')(insert, body)
    for (const [path, other] of [
      [insert, arrowRows({ a: [2] })],
      ['/v1/table/u/insert', body],
      [`${insert}?mode=overwrite`, body],
      ['/v1/table/t/drop', {}],
      ['/v1/table/t/delete', { predicate: 'a = 1' }],
    ] as const) {
      const { status, json } = await asUser('ada', 'k')(path, other)
      expect([status, json]).toEqual([
        422,
        expect.objectContaining({ status: 422, code: 13, detail: expect.stringContaining('"k"') }),
      ])
    }
    expect(await count()).toBe(2)
  })

  it('answers the same where the answer is bare and the transaction is a header', async () => {
    const { asUser } = await served()
    const set = () => asUser('ada', 'k')('/v1/table/t/schema_metadata/update', { unit: 'm' })
    const [first, second] = [await set(), await set()]
    expect(second.json).toEqual({ unit: 'm' })
    const name = 'x-tabularium-transaction-id'
    expect([...second.headers.keys()]).toEqual([...first.headers.keys()])
    expect(second.headers.get(name)).toBe(first.headers.get(name))
  })

  it('is refused if it is too long, and not looked at by reads', async () => {
    const { asUser } = await served()
    const long = 'x'.repeat(257)
    expect((await asUser('ada', long)(insert, body)).status).toBe(400)
    for (const id of ['t', 't', 'none']) {
      const { status } = await asUser('ada', long)(`/v1/table/${id}/describe`, {})
      expect(status).toBe(id === 't' ? 200 : 404)
    }
  })

  it('works inside of a transaction', async () => {
    const { asUser, count, catalog } = await served()
    const begun = (await asUser('ada')('/v1/transaction/begin', {})).json as { transaction_id: string }
    const inside = { 'x-tabularium-transaction': begun.transaction_id }
    const first = await asUser('ada', 'k')(insert, body, inside)
    expect((await asUser('ada', 'k')(insert, body, inside)).text).toBe(first.text)
    await catalog.commitTransaction({ id: [begun.transaction_id], context: { principal: 'ada' } })
    expect((await asUser('ada', 'k')(insert, body)).text).toBe(first.text)
    expect(await count()).toBe(2)
  })

  it('has rows of unknown length read whole, and compared', async () => {
    const { handler, count } = await served()
    const bytes = arrowRows({ a: Array.from({ length: 200_000 }, (_, i) => i % 100) })
    const send = (chunk: number, data: Uint8Array) => {
      const stream = new ReadableStream({
        start(controller) {
          for (let at = 0; at < data.length; at += chunk) controller.enqueue(data.subarray(at, at + chunk))
          controller.close()
        },
      })
      const headers = {
        authorization: 'Bearer a-secret-token-of-ada',
        'idempotency-key': 'k',
        ...arrowStream,
        'transfer-encoding': 'chunked',
      }
      const request = new Request(`http://localhost${insert}`, {
        method: 'POST',
        body: stream,
        headers,
        duplex: 'half',
      } as never)
      return handler(request)
    }
    const first = await (await send(100_000, bytes)).text()
    expect(await (await send(77_777, bytes)).text()).toBe(first)
    expect((await send(100_000, arrowRows({ a: [1] }))).status).toBe(422)
    expect(await count()).toBe(200_001)
  })
})

describe('a client', () => {
  const lossy = async (options: ClientOptions = {}) => {
    const { catalog, handler } = await serveInMemory()
    await catalog.createTable({ id: ['t'], data: [{ a: 0 }] })
    let lost = 0
    const client = connect('http://localhost', {
      retries: 3,
      ...options,
      // The change is made, and its answer does not arrive.
      fetch: async (request) => {
        const answer = await handler(request)
        if (!request.url.includes('/insert') || ++lost > 2) return answer
        throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } })
      },
    })
    const count = async () => (await catalog.countTableRows({ id: ['t'] })).count
    return { client, count, sent: () => lost }
  }
  const request = { id: ['t'], data: [{ a: 1 }] }

  it('sends a change with a key again when its answer was lost', async () => {
    const { client, count, sent } = await lossy()
    await client.insertIntoTable(request, { idempotencyKey: 'k' })
    expect([sent(), await count()]).toEqual([3, 2])
  })

  it('sends one without a key once, and says what to do with one that has a key', async () => {
    const { client, count, sent } = await lossy()
    await fails(client.insertIntoTable(request), 'ServiceUnavailable', 'Look before you make it again')
    expect([sent(), await count()]).toEqual([1, 2])
    const few = await lossy({ retries: 1 })
    const insertOnce = few.client.insertIntoTable(request, { idempotencyKey: 'k' })
    await fails(insertOnce, 'ServiceUnavailable', 'Send it again with the same idempotency key')
    await few.client.insertIntoTable(request, { idempotencyKey: 'k' })
    expect([few.sent(), await few.count()]).toEqual([3, 2])
  })

  it('gets the error of a key that belongs to another request', async () => {
    const { client } = await lossy()
    await client.createNamespace({ id: ['n'] }, { idempotencyKey: 'k' })
    const error = await client.createNamespace({ id: ['m'] }, { idempotencyKey: 'k' }).catch((error) => error)
    expect(error).toBeInstanceOf(CatalogError)
    expect(error).toMatchObject({ code: 'InvalidInput', message: expect.stringContaining('another request') })
  })
})
