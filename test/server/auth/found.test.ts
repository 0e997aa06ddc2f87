import { describe, expect, it } from 'vitest'
import { principalKey } from '../../../src/catalog/lookup/access.ts'
import { connect } from '../../../src/client/index.ts'
import { type AuthorizeRequest, fetchHandler } from '../../../src/server/index.ts'
import { type CatalogOptions, type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, eachLocalCatalog } from '../../support/catalogs.ts'
import { overHttp } from './attack.ts'

/*
 * Both hooks are asked about what a location or a transaction leads to. Each of the tests runs with the hook of the server,
 * and with that of the catalog.
 */

type Asked = readonly [operation: string, id: readonly string[] | undefined, location: string | undefined]
type Decide = (name: string, ...asked: Asked) => boolean

interface Callers {
  readonly asked: (readonly [name: string, ...asked: Asked])[]
  as(name: string): LocalCatalog | ReturnType<typeof connect>
}

const tokenOf = (name: string) => `${name}-with-a-long-token`

async function atServer(
  open: (options?: CatalogOptions) => Promise<LocalCatalog>,
  decide: Decide,
): Promise<Callers> {
  const asked: Callers['asked'] = []
  const authorize: AuthorizeRequest = (principal, operation, id, { location }) => {
    asked.push([principal!.name, operation, id, location])
    return decide(principal!.name, operation, id, location)
  }
  const tokens = ['ada', 'ben'].map((name) => ({ name, token: tokenOf(name) }))
  const handler = await fetchHandler(await open(), {
    auth: { tokens },
    authorize,
    limits: { eventLoopDelay: 0 },
  })
  return {
    asked,
    as: (name) =>
      connect('http://localhost', { token: tokenOf(name), retries: 0, fetch: (request) => handler(request) }),
  }
}

async function atCatalog(
  open: (options?: CatalogOptions) => Promise<LocalCatalog>,
  decide: Decide,
): Promise<Callers> {
  const asked: Callers['asked'] = []
  const catalog = await open({
    authorize: ({ operation, id, location, context }) => {
      const name = context![principalKey]!
      asked.push([name, operation, id, location])
      return decide(name, operation, id, location)
    },
  })
  const as = (name: string) =>
    new Proxy(catalog, {
      get: (target, member) => {
        const method = Reflect.get(target, member) as (request: object) => unknown
        return (request: object) => method.call(target, { ...request, context: { [principalKey]: name } })
      },
    })
  return { asked, as }
}

/** As many hooks do: what has no identifier may be done, and what is about a transaction. */
const ownNames: Decide = (name, operation, id) =>
  id === undefined || /Transaction/.test(operation) || id[0] === name

eachLocalCatalog((open) => {
  describe.each([
    ['of the server', atServer],
    ['of the catalog', atCatalog],
  ])('the hook %s', (_where, callers) => {
    async function twoCallers(decide = ownNames) {
      const { asked, as } = await callers(open, decide)
      const ada = as('ada')
      const ben = as('ben')
      await ada.createNamespace({ id: ['ada'] })
      await ben.createNamespace({ id: ['ben'] })
      return { asked, ada, ben }
    }

    it('is asked about the table that content at a location belonged to', async () => {
      const { asked, ada, ben } = await twoCallers()
      await ada.createTable({ id: ['ada', 'left'], data: [{ x: 1 }] })
      const { location } = await ada.deregisterTable({ id: ['ada', 'left'] })
      await ada.declareTable({ id: ['ada', 'name-only'] })
      const { location: empty } = await ada.deregisterTable({ id: ['ada', 'name-only'] })
      asked.length = 0
      for (const at of [location, empty, `${location}/data`]) {
        const denied = { code: 'PermissionDenied', message: expect.not.stringMatching(/left|name-only/) }
        await expect(ben.registerTable({ id: ['ben', 'mine'], location: at })).rejects.toMatchObject(denied)
        await expect(ben.declareTable({ id: ['ben', 'mine'], location: at })).rejects.toMatchObject(denied)
        const operations = [{ declare_table: { id: ['ben', 'mine'], location: at } }]
        await expect(ben.batchCommitTables({ operations })).rejects.toMatchObject(denied)
      }
      expect(asked).toContainEqual(['ben', 'registerTable', ['ada', 'left'], location])
      expect(asked).toContainEqual(['ben', 'registerTable', ['ada', 'name-only'], empty])
      expect(asked).toContainEqual(['ben', 'declareTable', ['ada', 'left'], location])
      await ada.registerTable({ id: ['ada', 'back'], location })
      expect((await ada.countTableRows({ id: ['ada', 'back'] })).count).toBe(1)
    })

    it('is asked about the table that lies at a location, and no error names it', async () => {
      const { asked, ada, ben } = await twoCallers()
      const { location } = await ada.createTable({ id: ['ada', 'secret'], data: [{ x: 1 }] })
      asked.length = 0
      const id = ['ben', 'mine']
      const attempts = [
        ['queryTable', () => ben.cloneTable({ id, source_location: location })],
        ['registerTable', () => ben.registerTable({ id, location })],
        ['declareTable', () => ben.declareTable({ id, location: `${location}/sub` })],
        ['declareTable', () => ben.batchCommitTables({ operations: [{ declare_table: { id, location } }] })],
      ] as const
      for (const [operation, attempt] of attempts) {
        await expect(attempt()).rejects.toMatchObject({
          code: 'PermissionDenied',
          message: expect.not.stringContaining('secret'),
        })
        expect(asked.map(([, name, of]) => [name, of])).toContainEqual([operation, ['ada', 'secret']])
        asked.length = 0
      }
    })

    it('decides whether the error for a location names its owner', async () => {
      const mayClaim: Decide = (name, operation, id) =>
        ownNames(name, operation, id, undefined) || operation === 'declareTable'
      const { ada, ben } = await twoCallers(mayClaim)
      const { location } = await ada.declareTable({
        id: ['ada', 'secret'],
        location: 's3://bucket/ada/secret',
      })
      const attempt = (catalog: typeof ada) =>
        catalog.declareTable({ id: ['ben', 'mine'], location: 's3://bucket/ada' })
      await expect(attempt(ben)).rejects.toMatchObject({
        code: 'TableAlreadyExists',
        message: expect.not.stringContaining('secret'),
      })
      await expect(
        ada.declareTable({ id: ['ada', 'other'], location: 's3://bucket/ada' }),
      ).rejects.toMatchObject({
        message: expect.stringContaining(`ada$secret, or overlaps its location (${location})`),
      })
    })

    it('decides whether a namespace that is not empty names what it holds', async () => {
      const { ada, ben } = await twoCallers(
        (name, operation, id) => ownNames(name, operation, id, undefined) || operation === 'dropNamespace',
      )
      await ada.declareTable({ id: ['ada', 'secret'] })
      await expect(ben.dropNamespace({ id: ['ada'] })).rejects.toMatchObject({
        code: 'NamespaceNotEmpty',
        message: expect.not.stringContaining('secret'),
      })
      await expect(ada.dropNamespace({ id: ['ada'] })).rejects.toMatchObject({
        message: expect.stringContaining('ada$secret'),
      })
    })

    it('decides who learns of transactions, and who alters them', async () => {
      const { asked, ada, ben } = await twoCallers()
      const { transaction_id: one } = await ada.declareTable({ id: ['ada', 't'] })
      const { transaction_id: batch } = await ada.batchCommitTables({
        operations: [{ deregister_table: { id: ['ada', 't'] } }, { declare_table: { id: ['ada', 'u'] } }],
      })
      await ben.declareTable({ id: ['ben', 't'] })
      const subjectsOf = async (catalog: typeof ada) =>
        (await catalog.listTransactions({})).transactions.map(({ subject }) => subject.join('.'))
      expect(await subjectsOf(ben)).toEqual(['ben.t', 'ben'])
      expect(await subjectsOf(ada)).toEqual(['', 'ada.t', 'ada'])
      const pages = []
      for (let page_token: string | undefined; ; ) {
        const page = await ben.listTransactions({ limit: 1, ...(page_token && { page_token }) })
        pages.push(...page.transactions)
        page_token = page.page_token ?? undefined
        if (page_token === undefined) break
      }
      expect(pages).toHaveLength(2)
      asked.length = 0
      for (const id of [[one!], [batch!], ['ada', 't', one!]]) {
        const missing = { code: 'TransactionNotFound' }
        await expect(ben.describeTransaction({ id })).rejects.toMatchObject(missing)
        const actions = [{ setPropertyAction: { key: 'x', value: 'y' } }]
        await expect(ben.alterTransaction({ id, actions })).rejects.toMatchObject(missing)
      }
      const actions = [{ setPropertyAction: { key: 'x', value: 'y' } }]
      for (const id of [one!, batch!]) {
        expect((await ada.describeTransaction({ id: [id] })).status).toBe('Succeeded')
        expect((await ada.alterTransaction({ id: [id], actions })).properties.x).toBe('y')
      }
      expect(asked).toContainEqual(['ada', 'alterTransaction', ['ada', 't'], undefined])
    })

    it('is asked before a transaction of a subject that the caller sees is altered', async () => {
      const { ada, ben } = await twoCallers(
        (name, operation, id) =>
          ownNames(name, '', id, undefined) || id?.[0]?.length === 26 || operation === 'describeTable',
      )
      const { transaction_id } = await ada.declareTable({ id: ['ada', 't'] })
      const id = [transaction_id!]
      expect((await ben.describeTransaction({ id })).status).toBe('Succeeded')
      const actions = [{ setPropertyAction: { key: 'x', value: 'y' } }]
      await expect(ben.alterTransaction({ id, actions })).rejects.toMatchObject({ code: 'PermissionDenied' })
      expect((await ada.describeTransaction({ id })).properties).not.toHaveProperty('x')
    })
  })
})

it('a server over a catalog on another server refuses what its hook cannot be asked about', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  await using door = await overHttp(catalog)
  const ada = door.as('mallory')
  const near = await fetchHandler(ada, { auth: false, authorize: () => true })
  const client = connect('http://localhost', {
    fetch: (request) => near(request, { remoteAddress: '127.0.0.1' }),
  })
  await client.createNamespace({ id: ['mallory'] })
  await client.createTable({ id: ['mallory', 't'], data: [{ x: 1 }] })
  const { location } = await client.describeTable({ id: ['mallory', 't'] })
  for (const led of [
    () => client.cloneTable({ id: ['mallory', 'u'], source_location: location! }),
    () => client.listTransactions({}),
    () => client.batchCommitTables({ operations: [{ declare_table: { id: ['mallory', 'u'], location } }] }),
  ])
    await expect(led()).rejects.toMatchObject({
      code: 'Unsupported',
      message: expect.stringContaining('hook'),
    })
})
