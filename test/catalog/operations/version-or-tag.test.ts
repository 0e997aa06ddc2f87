import { tableFromIPC } from '@uwdata/flechette'
import { beforeEach, describe, expect, it } from 'vitest'
import { type OperationName, operations } from '../../../src/catalog/operations/index.ts'
import { eachCatalog } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'

const id = ['t']

/** The operations that take a version which is there already, and a request of each but for it. */
const taking: Partial<Record<OperationName, object>> = {
  describeTable: { id, load_detailed_metadata: true },
  tableExists: { id },
  countTableRows: { id },
  queryTable: { id },
  getTableStats: { id },
  restoreTable: { id },
  describeTableVersion: { id },
  analyzeTableQueryPlan: { id },
  listTableIndices: { id },
  describeTableIndexStats: { id, index_name: 'x_idx' },
  prewarmTableIndex: { id, index_name: 'x_idx' },
  getLsmWriteSpec: { id },
}

/** Tables of Lance alone answer it, as blobs.test.ts shows. */
const ofLance = 'fetchTableBlobs'

/** Their `version` is another thing: one to be made, or what a tag is to point to. */
const others = ['createTableVersion', 'createTableTag', 'updateTableTag', ofLance]

/** An answer without what differs from call to call. */
function plain(answer: unknown): unknown {
  const { transaction_id: _, data: __, analysis: ___, ...rest } = Object(answer)
  return typeof answer === 'object' ? rest : answer
}

describe('a version by its tag', () => {
  it('is taken wherever a version is', () => {
    const withVersion = Object.values(operations).flatMap(({ definition }) =>
      'version' in ((definition.request as { entries?: object }).entries ?? {}) ? [definition.name] : [],
    )
    const toAdd = withVersion
      .filter((name) => !others.includes(name) && !Object.hasOwn(taking, name))
      .map((name) => `test/catalog/operations/version-or-tag.test.ts: to taking, ${name}: { id }`)
    expect(toAdd).toEqual([])
    expect(withVersion).toEqual(expect.arrayContaining(Object.keys(taking)))
  })

  eachCatalog((open) => {
    let catalog: Awaited<ReturnType<typeof open>>
    beforeEach(async () => {
      catalog = await open()
      await catalog.createTable({ id, data: [{ x: 1 }, { x: 2 }] })
      await catalog.createTableBranch({ id, name: 'b' })
      await catalog.insertIntoTable({ id, branch: 'b', data: [{ x: 3 }] })
      await catalog.createTableTag({ id, tag: 'first', version: 1 })
      await catalog.createTableTag({ id, tag: 'branched', version: 2, branch: 'b' })
      await catalog.deleteFromTable({ id, predicate: 'true' })
    })

    it('says the version and the branch', async () => {
      expect((await catalog.countTableRows({ id, tag: 'first' })).count).toBe(2)
      expect((await catalog.countTableRows({ id, tag: 'branched', predicate: 'x > 2' })).count).toBe(1)
      const { data } = await catalog.queryTable({ id, tag: 'branched' })
      expect(tableFromIPC(data).numRows).toBe(3)
      expect((await catalog.describeTable({ id, tag: 'first', load_detailed_metadata: true })).version).toBe(
        1,
      )
      const { version } = await catalog.describeTableVersion({ id, tag: 'branched' })
      expect(version).toEqual((await catalog.describeTableVersion({ id, version: 2, branch: 'b' })).version)
      await catalog.tableExists({ id, tag: 'branched' })
      expect((await catalog.getTableStats({ id, tag: 'first' })).num_rows).toBe(2)
      expect((await catalog.getTableStats({ id, tag: 'branched' })).num_rows).toBe(3)
    })

    it('can be restored, on the branch of the tag', async () => {
      await catalog.restoreTable({ id, tag: 'first' })
      expect((await catalog.countTableRows({ id })).count).toBe(2)
      await catalog.deleteFromTable({ id, branch: 'b', predicate: 'true' })
      await catalog.restoreTable({ id, tag: 'branched' })
      expect((await catalog.countTableRows({ id, branch: 'b' })).count).toBe(3)
      expect((await catalog.countTableRows({ id })).count).toBe(2)
    })

    it.each(Object.entries(taking))(
      '%s refuses a tag beside a version or a branch, and one that is not there',
      async (name, request) => {
        const call = (more: object) =>
          (catalog[name as OperationName] as (request: object) => Promise<unknown>)({ ...request, ...more })
        await fails(call({ tag: 'none' }), 'TableTagNotFound', 'none')
        await fails(call({ tag: 'first', version: 1 }), 'InvalidInput', 'tag')
        if (name !== 'tableExists') await fails(call({ tag: 'first', branch: 'b' }), 'InvalidInput', 'tag')
      },
    )

    it.each(Object.entries(taking))(
      '%s takes a time, or says what is wrong with it',
      async (name, request) => {
        const call = (more: object) =>
          (catalog[name as OperationName] as (request: object) => Promise<unknown>)({ ...request, ...more })
        const at = new Date()
        // An index is there, or not, as with the number of the version.
        const found = await call({ version: 2 }).catch(({ code }) => code)
        expect(plain(await call({ at }).catch(({ code }) => code))).toEqual(plain(found))
        await fails(call({ at, version: 1 }), 'InvalidInput', 'at cannot be used together with')
        await fails(call({ at, tag: 'first' }), 'InvalidInput', 'at cannot be used together with')
        await fails(call({ at: '2199-01-01T00:00:00Z' }), 'InvalidInput', 'still to come')
        await fails(call({ at: '1999-01-01T00:00:00Z' }), 'TableVersionNotFound', 'its first one, version 1')
        for (const wrong of [
          '2026-11-01',
          '2026-02-30T00:00:00Z',
          'yesterday',
          '2026-11-01T00:00:00',
          5,
          '',
        ]) {
          await fails(call({ at: wrong }), 'InvalidInput', `${name}: at must be a time with its zone`)
        }
      },
    )

    it('or a time is taken by tags, branches and clones', async () => {
      const at = (await catalog.describeTableVersion({ id, version: 1 })).version.timestamp_millis!
      while (Date.now() <= at) await new Promise((resolve) => setTimeout(resolve, 1))
      await catalog.createTable({ id: ['u'], data: [{ x: 1 }] })
      const between = new Date()
      while (Date.now() <= between.getTime()) await new Promise((resolve) => setTimeout(resolve, 1))
      await catalog.insertIntoTable({ id: ['u'], data: [{ x: 2 }] })
      await catalog.createTableTag({ id: ['u'], tag: 'then', at: between })
      await catalog.createTableTag({ id: ['u'], tag: 'moved', version: 2 })
      await catalog.updateTableTag({ id: ['u'], tag: 'moved', at: between.toISOString() })
      await catalog.createTableBranch({ id: ['u'], name: 'then', from_at: between })
      await catalog.cloneTable({ id: ['then'], source: ['u'], source_at: between })
      const counts = [{ tag: 'then' }, { tag: 'moved' }, { branch: 'then' }, { at: between }, {}].map(
        async (wanted) => (await catalog.countTableRows({ id: ['u'], ...wanted })).count,
      )
      expect(await Promise.all(counts)).toEqual([1, 1, 1, 1, 2])
      expect((await catalog.countTableRows({ id: ['then'] })).count).toBe(1)
      expect((await catalog.listTableVersions({ id: ['u'], at: between })).versions).toHaveLength(1)
      await fails(catalog.createTableTag({ id, tag: 'x' }), 'InvalidInput', 'version is missing')
      const both = { id, name: 'c', from_at: between, from_version: 1 }
      await fails(catalog.createTableBranch(both), 'InvalidInput', 'from_version')
      const three = { id: ['c'], source: id, source_at: between, source_version: 1 }
      await fails(catalog.cloneTable(three), 'InvalidInput', 'source_version')
    })

    it('or a number must be there where the latest would make no sense', async () => {
      await fails(catalog.restoreTable({ id }), 'InvalidInput', 'version is missing')
      await fails(catalog.describeTableVersion({ id }), 'InvalidInput', 'version is missing')
    })
  })
})
