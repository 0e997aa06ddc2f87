import { expect, it } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'
import { eachContent } from '../../support/contents.ts'
import { declared, listed } from './support.ts'

/* Tags and branches of a table of Lance are its own files. test/server/dialects/lancedb has Lance itself. */

/** A table with three versions. */
async function table(catalog: LocalCatalog, content: Content) {
  const dataset = await declared(catalog, content, 't')
  for (const version of [1, 2, 3])
    await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(version, 'x'.repeat(version))) })
  return dataset
}

const id = ['t']

eachContent((open) => {
  it('tags that the catalog makes are those of Lance', async () => {
    const { catalog, content } = await open({ now: () => Date.UTC(2026, 0, 1) })
    const dataset = await table(catalog, content)
    await catalog.createTableTag({ id, tag: 'v1.0', version: 1 })
    expect(await dataset.ref('tags/v1.0')).toEqual({
      branch: null,
      version: 1,
      manifestSize: 1,
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
      metadata: {},
    })
    await catalog.updateTableTag({ id, tag: 'v1.0', version: 3 })
    expect(await dataset.ref('tags/v1.0')).toMatchObject({ version: 3, manifestSize: 3 })
    expect(await catalog.getTableTagVersion({ id, tag: 'v1.0' })).toEqual({ version: 3 })
    const { tags } = await catalog.listTableTags({ id })
    expect(tags).toEqual({ 'v1.0': { version: 3, manifestSize: 3 } })
    await catalog.deleteTableTag({ id, tag: 'v1.0' })
    expect(await dataset.ref('tags/v1.0')).toBeUndefined()
    expect((await catalog.verify()).findings).toEqual([])
  })

  it('tags that Lance makes are those of the catalog', async () => {
    const { catalog, content } = await open()
    const dataset = await table(catalog, content)
    await dataset.putRef('tags/b', { branch: 'dev', version: 2, manifestSize: 7, metadata: { by: 'me' } })
    await dataset.putRef('tags/a', { branch: null, version: 1, manifestSize: 5 })
    expect((await catalog.listTableTags({ id })).tags).toEqual({
      a: { version: 1, manifestSize: 5 },
      b: { branch: 'dev', version: 2, manifestSize: 7 },
    })
    const first = await catalog.listTableTags({ id, limit: 1 })
    expect(Object.keys(first.tags)).toEqual(['a'])
    const rest = await catalog.listTableTags({ id, page_token: first.page_token })
    expect([Object.keys(rest.tags), rest.page_token]).toEqual([['b'], undefined])
    expect(await catalog.getTableTagVersion({ id, tag: 'b' })).toEqual({ version: 2, branch: 'dev' })
    const tagged = await catalog.describeTable({ id, tag: 'a', load_detailed_metadata: true })
    expect(tagged.version).toBe(1)
    await catalog.updateTableTag({ id, tag: 'b', version: 3 })
    expect(await dataset.ref('tags/b')).toMatchObject({ branch: null, version: 3, metadata: { by: 'me' } })
    await expect(catalog.createTableTag({ id, tag: 'a', version: 1 })).rejects.toMatchObject({
      code: 'TableTagAlreadyExists',
    })
    await expect(catalog.createTableTag({ id, tag: 'c', version: 9 })).rejects.toMatchObject({
      code: 'TableVersionNotFound',
    })
    await expect(catalog.deleteTableTag({ id, tag: 'c' })).rejects.toMatchObject({ code: 'TableTagNotFound' })
    for (const tag of ['.a', 'a.', 'a..b', 'a.lock']) {
      await expect(catalog.createTableTag({ id, tag, version: 1 })).rejects.toMatchObject({
        code: 'InvalidInput',
      })
    }
  })

  it('one of many that make a tag succeeds', async () => {
    const { catalog, content } = await open()
    const dataset = await table(catalog, content)
    const made = await Promise.allSettled(
      [1, 2, 3].map((version) => catalog.createTableTag({ id, tag: 'x', version })),
    )
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const version = made.findIndex(({ status }) => status === 'fulfilled') + 1
    expect(await dataset.ref('tags/x')).toMatchObject({ version })
  })

  it('branches are listed as Lance wrote them, and deleted with their files', async () => {
    const { catalog, content } = await open()
    const dataset = await table(catalog, content)
    const branch = { parentVersion: 2, createAt: 1_795_324_996, manifestSize: 9 }
    const [first, second] = [
      [2, 'aa'],
      [2, 'bb'],
    ]
    await dataset.publish(2, 'two', 'a')
    await dataset.publish(2, 'two', 'a/b')
    await dataset.putRef('branches/a', { ...branch, identifier: { version_mapping: [first] } })
    await dataset.putRef('branches/a%2Fb', {
      ...branch,
      parentBranch: 'a',
      identifier: { version_mapping: [first, second] },
    })
    expect((await catalog.listTableBranches({ id })).branches).toEqual({
      a: branch,
      'a/b': { parentBranch: 'a', ...branch },
    })
    expect(await listed(catalog, 't', 'a/b')).toEqual([2])
    await dataset.putRef('tags/x', { branch: 'a/b', version: 2, manifestSize: 9 })
    for (const name of ['a', 'a/b']) {
      await expect(catalog.deleteTableBranch({ id, name })).rejects.toMatchObject({
        code: 'InvalidTableState',
      })
    }
    await catalog.deleteTableTag({ id, tag: 'x' })
    await catalog.deleteTableBranch({ id, name: 'a/b' })
    expect([await dataset.manifests('a'), await dataset.manifests('a/b')]).toEqual([[[2, 'two']], []])
    await expect(catalog.listTableVersions({ id, branch: 'a/b' })).rejects.toMatchObject({
      code: 'TableBranchNotFound',
    })
    await catalog.deleteTableBranch({ id, name: 'a' })
    expect((await catalog.listTableBranches({ id })).branches).toEqual({})
    await expect(catalog.deleteTableBranch({ id, name: 'a' })).rejects.toMatchObject({
      code: 'TableBranchNotFound',
    })
    expect((await catalog.verify()).findings).toEqual([])
  })

  it('a branch stays when one with a shorter name is deleted', async () => {
    const { catalog, content } = await open()
    const dataset = await table(catalog, content)
    for (const name of ['a', 'a/b']) {
      await dataset.publish(1, name, name)
      await dataset.putRef(`branches/${name.replace('/', '%2F')}`, { parentVersion: 1 })
    }
    await catalog.deleteTableBranch({ id, name: 'a' })
    expect([await dataset.manifests('a'), await dataset.manifests('a/b')]).toEqual([
      // Those of the other branch lie below.
      [],
      [[1, 'a/b']],
    ])
  })

  it('a branch whose making was interrupted is not listed, and can be deleted', async () => {
    const { catalog, content } = await open()
    const dataset = await table(catalog, content)
    await catalog.createTableVersion({ id, branch: 'dev', ...(await dataset.stage(3, 'x', 'dev')) })
    expect((await catalog.listTableBranches({ id })).branches).toEqual({})
    await expect(catalog.createTableBranch({ id, name: 'dev' })).rejects.toMatchObject({
      code: 'TableBranchAlreadyExists',
    })
    await catalog.deleteTableBranch({ id, name: 'dev' })
    expect(await dataset.manifests('dev')).toEqual([])
  })

  it('versions are deleted with their manifests, but not those that are needed', async () => {
    const { catalog, content } = await open()
    const dataset = await table(catalog, content)
    await catalog.createTableTag({ id, tag: 'x', version: 1 })
    await dataset.putRef('branches/dev', { parentVersion: 2 })
    const remove = (start_version: number, end_version: number) =>
      catalog.batchDeleteTableVersions({ id, ranges: [{ start_version, end_version }] })
    for (const [version, reason] of [
      [1, 'The tag x'],
      [2, 'The branch dev'],
      [3, 'It is the latest'],
    ] as const) {
      const refused = expect.objectContaining({
        code: 'InvalidTableState',
        message: expect.stringContaining(reason),
      })
      await expect(remove(version, version + 1)).rejects.toEqual(refused)
      const operations = [
        { delete_table_versions: { id, ranges: [{ start_version: version, end_version: version + 1 }] } },
      ]
      await expect(catalog.batchCommitTables({ operations })).rejects.toMatchObject({
        code: 'InvalidTableState',
      })
    }
    expect(await dataset.manifests()).toHaveLength(3)
    await catalog.deleteTableTag({ id, tag: 'x' })
    expect(await remove(1, 2)).toMatchObject({ deleted_count: 1 })
    await content.remove(`${dataset.prefix}_refs/branches/`)
    const operations = [{ delete_table_versions: { id, ranges: [{ start_version: 1, end_version: 3 }] } }]
    const { results } = await catalog.batchCommitTables({ operations })
    expect(results[0]!.delete_table_versions).toMatchObject({ deleted_count: 1 })
    expect((await dataset.manifests()).map(([version]) => version)).toEqual([3])
    expect(await listed(catalog, 't')).toEqual([3])
  })

  it('a table that is registered only shows what lies there', async () => {
    const { catalog, content } = await open()
    const { location } = await catalog.declareTable({ id: ['u'] })
    await catalog.deregisterTable({ id: ['u'] }).catch(() => {})
    const prefix = `${location.slice(location.indexOf('tables/'))}/`
    await content.put(`${prefix}_versions/3.manifest`, new Uint8Array(30))
    await content.put(`${prefix}_versions/4.manifest`, new Uint8Array(40))
    await content.put(
      `${prefix}_refs/tags/x.json`,
      new TextEncoder().encode('{"version":3,"manifestSize":30}'),
    )
    await catalog.registerTable({ id: ['r'], location })
    expect(await listed(catalog, 'r')).toEqual([3, 4])
    const { version } = await catalog.describeTableVersion({ id: ['r'], version: 4 })
    expect(version).toMatchObject({ manifest_size: 40, manifest_path: expect.stringMatching(/4\.manifest$/) })
    expect((await catalog.listTableTags({ id: ['r'] })).tags).toEqual({ x: { version: 3, manifestSize: 30 } })
    await content.put(`${prefix}_versions/5.manifest`, new Uint8Array(50))
    expect((await catalog.describeTable({ id: ['r'], load_detailed_metadata: true })).version).toBe(5)
    await catalog.tableExists({ id: ['r'], version: 5 })
    await expect(catalog.countTableRows({ id: ['r'] })).rejects.toMatchObject({ code: 'InvalidTableState' })
  })
})
