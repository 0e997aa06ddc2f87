import { expect, it } from 'vitest'
import { connect } from '../../../src/client/index.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { fetchHandler } from '../../../src/server/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, eachCatalog } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'

const id = ['t']

eachCatalog((open) => {
  it('an error tells the transaction that failed, which tells why', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: [{ x: 1 }] })
    const error = await fails(catalog.deleteFromTable({ id, predicate: 'none > 1' }), 'InvalidInput')
    expect(error.transaction_id).toEqual(expect.any(String))
    const { status, properties } = await catalog.describeTransaction({ id: [error.transaction_id!] })
    expect(status).toBe('Failed')
    expect(properties).toMatchObject({ failure: error.message, failure_code: 'InvalidInput' })
  })

  it('an error before anything was recorded tells no transaction', async () => {
    const catalog = await open()
    const error = await fails(catalog.deleteFromTable({ id, predicate: 'x > 1' }), 'TableNotFound')
    expect(error).not.toHaveProperty('transaction_id')
  })
})

it('an unexpected error tells it as well, and the reason of an abort stays as it is', async () => {
  const content = memoryContent()
  let broken = false
  const failing: typeof content = Object.assign(Object.create(content), {
    put: (...given: Parameters<typeof content.put>) =>
      broken ? Promise.reject(new TypeError('broken')) : content.put(...given),
  })
  const catalog = closedAfterwards(await openCatalog({ store: memoryStore(), content: failing }))
  await catalog.createTable({ id, data: [{ x: 1 }] })
  broken = true
  const error = await fails(catalog.insertIntoTable({ id, data: [{ x: 2 }] }), 'Internal')
  const { status } = await catalog.describeTransaction({ id: [error.transaction_id!] })
  expect(status).toBe('Failed')

  broken = false
  const stop = new AbortController()
  const reason = new Error('enough')
  const canceled = catalog.insertIntoTable(
    { id, data: [{ x: 2 }] },
    {
      signal: stop.signal,
      onProgress: () => stop.abort(reason),
    },
  )
  await expect(canceled).rejects.toBe(reason)
  expect(reason).not.toHaveProperty('transaction_id')
})

it('over HTTP, it is in the body and in a header', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  await catalog.createTable({ id, data: [{ x: 1 }] })
  await using handler = Object.assign(
    await fetchHandler(catalog, { limits: { eventLoopDelay: 0 }, auth: false }),
    {
      [Symbol.asyncDispose]: async () => {},
    },
  )
  const answers: Response[] = []
  const remote = connect('http://localhost', {
    fetch: async (request) => {
      const answer = await handler(request)
      answers.push(answer.clone())
      return answer
    },
  })
  const { transaction_id } = await fails(remote.deleteFromTable({ id, predicate: '1 +' }), 'InvalidInput')
  expect(transaction_id).toEqual(expect.any(String))
  expect(answers[0]!.headers.get('x-tabularium-transaction-id')).toBe(transaction_id)
  expect(await answers[0]!.json()).toMatchObject({ status: 400, code: 13, transaction_id })
  await handler.close()
})
