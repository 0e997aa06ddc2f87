import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../support/catalogs.ts'
import { fails } from '../support/refusals.ts'
import { numbered } from '../support/rows.ts'

describe('over a real socket', () => {
  it('works from the first namespace to the last drop', async () => {
    const local = closedAfterwards(await openCatalog(await freshFolder()))
    await using server = await serve(local, {
      limits: { eventLoopDelay: 0 },
      port: 0,
      auth: { tokens: ['a-good-long-token'] },
      log: false,
    })
    await using catalog = connect(server.url, { token: 'a-good-long-token' })
    await catalog.createNamespace({ id: ['prod'] })
    const id = ['prod', 'numbers']
    await catalog.createTable({ id, data: numbered(20_000) })
    await catalog.insertIntoTable({ id, data: numbered(10, 20_000) })
    const { count, context } = await catalog.countTableRows({ id })
    expect(count).toBe(20_010)
    expect(context).toHaveProperty(['header.x-request-id'])
    expect((await catalog.queryTable({ id })).data.byteLength).toBeGreaterThan(20_000 * 16)
    await catalog.createTableTag({ id, tag: 'first', version: 1 })
    expect((await catalog.listTableTags({ id })).tags.first).toMatchObject({ version: 1 })
    const many = await Promise.all(
      Array.from({ length: 100 }, (_, i) => catalog.declareTable({ id: ['prod', `t${i}`] })),
    )
    expect(new Set(many.map(({ location }) => location)).size).toBe(100)
    await catalog.dropTable({ id })
    await fails(catalog.describeTable({ id }), 'TableNotFound', 'prod$numbers')
    await fails(connect(server.url).listTables({ id: [] }), 'Unauthenticated')
  })

  it('tells that nobody listens, and that a server leads elsewhere', async () => {
    const server = createServer((_, response) => {
      response.writeHead(307, { location: 'https://elsewhere.test/' }).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await fails(connect(url).listTables({ id: [] }), 'ServiceUnavailable', 'redirects to https://elsewhere')
    const data = [{ n: 1 }].values()
    await fails(connect(url).createTable({ id: ['t'], data }), 'ServiceUnavailable', 'redirects. Connect to')
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await fails(
      connect(url, { retries: 1 }).listTables({ id: [] }),
      'ServiceUnavailable',
      'cannot be reached (ECONNREFUSED)',
    )
  })
})
