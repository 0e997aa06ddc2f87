import { expect, it } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'
import { eachContent } from '../../support/contents.ts'
import { fails } from '../../support/refusals.ts'
import { Dataset, declared, listed } from './support.ts'

/** A folder of a dataset that is no table yet, and its location. */
async function undeclared(catalog: LocalCatalog, content: Content, name: string) {
  const { location } = await catalog.declareTable({ id: [`beside ${name}`] })
  const at = `${location.slice(0, location.indexOf('tables/'))}data/${name}`
  return { location: at, dataset: new Dataset(content, at, `data/${name}/`) }
}

eachContent((openAny) => {
  const open = () => openAny({ managedVersioning: true })

  it('a batch declares a table where Lance wrote, and creates its first version', async () => {
    const { catalog, content } = await open()
    const declaring = async (name: string) => {
      const { location, dataset } = await undeclared(catalog, content, name)
      const staged = await dataset.stage(1, 'one')
      const operations = [
        { declare_table: { id: [name], location } },
        { create_table_version: { id: [name], ...staged } },
      ]
      return { dataset, request: { operations } }
    }
    const outside = await declaring('x')
    await catalog.batchCommitTables(outside.request)
    const inside = await declaring('y')
    await catalog.transaction(async (tx) => {
      await tx.batchCommitTables(inside.request)
      expect(await inside.dataset.manifests()).toEqual([])
    })
    for (const [name, { dataset }] of Object.entries({ x: outside, y: inside })) {
      expect(await listed(catalog, name)).toEqual([1])
      expect(await dataset.manifests()).toEqual([[1, 'one']])
    }
  })

  it('a batch takes over no versions of the table that it declares', async () => {
    const { catalog, content } = await open()
    const { location, dataset } = await undeclared(catalog, content, 'x')
    await dataset.publish(1, 'one')
    const staged = await dataset.stage(2, 'two')
    await fails(
      catalog.batchCommitTables({
        operations: [
          { declare_table: { id: ['t'], location } },
          { create_table_version: { id: ['t'], ...staged } },
        ],
      }),
      'InvalidTableState',
      'operations[1] failed',
      'Declare the table first',
    )
  })

  it('versions of a table that takes a name in the batch are no versions of the table before', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    for (const version of [1, 2])
      await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(version, `${version}`)) })
    const manifests = await dataset.manifests()
    const { versions } = await catalog.listTableVersions({ id: ['t'] })
    await catalog.batchCommitTables({
      operations: [
        { deregister_table: { id: ['t'] } },
        { declare_table: { id: ['t'], location: 's3://elsewhere/t' } },
        ...versions.map(({ version, manifest_path }) => ({
          create_table_version: { id: ['t'], version, manifest_path },
        })),
        { delete_table_versions: { id: ['t'], ranges: [{ start_version: 1, end_version: 2 }] } },
      ],
    })
    expect(await listed(catalog, 't')).toEqual([2])
    expect(await dataset.manifests()).toEqual(manifests)
  })

  it('a staged manifest that is refused does not hide what fails before it', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'one')) })
    const staged = await dataset.stage(2, 'two')
    const first = [{ deregister_table: { id: ['missing'] } }]
    for (const [entry, code] of [
      [{ ...staged, version: 3 }, 'InvalidInput'],
      [{ ...(await dataset.stage(2, 'two', 'dev')), branch: 'dev' }, 'TableBranchNotFound'],
    ] as const) {
      const second = { create_table_version: { id: ['t'], ...entry } }
      await catalog.transaction(async (tx) => {
        await fails(
          tx.batchCommitTables({ operations: [...first, second] }),
          'TableNotFound',
          'operations[0] failed',
        )
        await fails(tx.batchCommitTables({ operations: [second] }), code, 'operations[0] failed')
        const entries = [{ id: ['t'], ...entry }]
        await fails(tx.batchCreateTableVersions({ entries }), code, 'entries[0] failed')
      })
    }
    await fails(
      catalog.batchCommitTables({
        operations: [...first, { create_table_version: { id: ['t'], ...staged, version: 3 } }],
      }),
      'TableNotFound',
      'operations[0] failed',
    )
  })
})
