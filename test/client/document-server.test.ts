import { beforeEach, describe, expect, it } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { type Catalog, CatalogError } from '../../src/tabularium/index.ts'
import { fails } from '../support/refusals.ts'
import { DocumentServer } from './document-server.ts'

/*
 * The client against a server that speaks the service document and nothing else.
 */

const id = ['prod', 'flights']
let server: DocumentServer
let catalog: Catalog

beforeEach(() => {
  server = new DocumentServer()
  server.put('prod$flights', 3, 10)
  server.put('prod$declared')
  catalog = connect('http://document.test', { token: 'token', fetch: server.fetch })
})

/** Without the headers of the response. */
const plain = <T extends object>({ context: _, ...answer }: T & { context?: unknown }) => answer

describe('every operation of the document works', () => {
  it('counting, on versions and with predicates', async () => {
    expect((await catalog.countTableRows({ id })).count).toBe(10)
    expect((await catalog.countTableRows({ id, version: 1 })).count).toBe(3)
    expect(
      (await catalog.countTableRows({ id, predicate: '2 rows', branch: null, version: null })).count,
    ).toBe(2)
    expect((await catalog.countTableRows({ id, branch: 'main' })).count).toBe(10)
  })

  it('deleting, and describing the transaction whatever the spelling of its status', async () => {
    for (const version of [3, 4, 5]) {
      const deleted = await catalog.deleteFromTable({ id, predicate: '1 rows' })
      expect(deleted).toMatchObject({ version })
      expect(deleted.num_deleted_rows).toBeUndefined()
      for (const path of [[deleted.transaction_id!], [...id, deleted.transaction_id!]])
        expect((await catalog.describeTransaction({ id: path })).status).toBe('Succeeded')
    }
  })

  it('renaming, moving and tags', async () => {
    server.tables.get('prod$flights')!.tags.set('stable', 1)
    expect(plain(await catalog.updateTableTag({ id, tag: 'stable', version: 2 }))).toEqual({})
    expect(server.tables.get('prod$flights')!.tags.get('stable')).toBe(2)
    expect(plain(await catalog.renameTable({ id, new_table_name: 'trains' }))).toEqual({})
    await catalog.renameTable({ id: ['prod', 'trains'], new_table_name: 'trains', new_namespace_id: ['old'] })
    expect([...server.tables.keys()].sort()).toEqual(['old$trains', 'prod$declared'])
  })

  it('replacing metadata, on a branch too', async () => {
    expect(plain(await catalog.updateTableSchemaMetadata({ id, metadata: { unit: 'm' } }))).toEqual({
      metadata: { unit: 'm' },
    })
    await catalog.updateTableSchemaMetadata({ id, branch: 'dev', metadata: {} })
    expect(server.seen).toEqual([
      'POST /v1/table/prod%24flights/schema_metadata/update',
      'POST /v1/table/prod%24flights/schema_metadata/update?branch=dev',
    ])
  })

  it('batches', async () => {
    const { results } = await catalog.batchCommitTables({
      operations: [
        { declare_table: { id: ['new'] } },
        { create_table_version: { id, version: 3, manifest_path: 'm' } },
        { delete_table_versions: { id, ranges: [{ start_version: 1, end_version: 2 }] } },
        { deregister_table: { id: ['prod', 'declared'] } },
      ],
    })
    expect(results).toMatchObject([
      { declare_table: { location: 's3://b/new', properties: null } },
      { create_table_version: { version: { version: 3, manifest_path: 'm' } } },
      { delete_table_versions: { deleted_count: 0 } },
      { deregister_table: { id: ['prod', 'declared'], location: 's3://b/prod$declared' } },
    ])
    const { properties } = await catalog.deregisterTable({ id })
    expect(properties).toBeNull()
  })

  it('listing, page by page to the end', async () => {
    const pages: string[][] = []
    let page_token: string | null | undefined
    do {
      const page = await catalog.listTables({ id: [], limit: 1, page_token })
      pages.push(page.tables)
      page_token = page.page_token
    } while (page_token !== undefined && pages.length < 9)
    expect(pages).toEqual([['prod$declared'], ['prod$flights']])
    expect((await catalog.listTables({ id: ['prod'], include_declared: false })).tables).toEqual([
      'prod$flights',
    ])
    expect((await catalog.listTables({ id: [], delimiter: '.' })).tables).toContain('prod.flights')
  })
})

describe('what goes between', () => {
  it('the context has every header of the response', async () => {
    const { context } = await catalog.countTableRows({ id })
    expect(context).toMatchObject({
      'header.content-type': 'application/json',
      'header.x-served-by': 'the document',
      'header.x-scanned': '10',
    })
  })

  it('errors of five fields have the code that the path tells', async () => {
    const none = ['none']
    await fails(catalog.countTableRows({ id: none }), 'TableNotFound')
    await fails(catalog.deregisterTable({ id: none }), 'TableNotFound')
    await fails(catalog.describeTransaction({ id: none }), 'TransactionNotFound')
    server.next = 404
    await fails(catalog.listTables({ id: none }), 'NamespaceNotFound')
    await fails(catalog.countTableRows({ id, predicate: '?' }), 'InvalidInput')
    await fails(catalog.renameTable({ id, new_table_name: 'declared' }), 'ConcurrentModification')
    const operations = [{ declare_table: { id: ['new'] } }, { declare_table: { id } }]
    await fails(catalog.batchCommitTables({ operations }), 'ConcurrentModification')
    expect(server.tables.has('new')).toBe(false)
    for (const [status, code] of [
      [403, 'PermissionDenied'],
      [406, 'Unsupported'],
      [500, 'Internal'],
    ] as const) {
      server.next = status
      await fails(catalog.listTables({ id: [] }), code)
    }
    const stranger = connect('http://document.test', { fetch: server.fetch })
    await fails(stranger.listTables({ id: [] }), 'Unauthenticated')
  })

  it('a server that is busy is asked again', async () => {
    server.next = 503
    expect((await catalog.countTableRows({ id })).count).toBe(10)
    server.next = 503
    await fails(catalog.deregisterTable({ id }), 'ServiceUnavailable')
    expect(server.seen).toHaveLength(3)
  })

  it('an empty detail still makes a sentence', async () => {
    server.next = 403
    const error = await catalog.listTables({ id: [] }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(CatalogError)
    expect((error as CatalogError).message).toMatch(/403/)
  })
})
