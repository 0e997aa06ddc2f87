import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LsmWriteSpec } from '@lancedb/lancedb'
import { describe, expect, onTestFinished } from 'vitest'
import { run } from '../../cli/run.ts'
import { served } from '../../server/dialects/lancedb/support/served.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(120)

/* What LanceDB asks for besides rows: that an index is read into memory, how writers share out rows, and upkeep. */

const words = ['cat', 'dog', 'car', 'bird']
const data = Array.from({ length: 40 }, (_, i) => ({ name: `n${i}`, text: `a ${words[i % 4]}` })) as never

async function opened() {
  const server = await served('lmdb', { format: 'lance', managedVersioning: true, listing: 'children' })
  onTestFinished(() => server[Symbol.asyncDispose]())
  return server
}

describe('indexes in memory', () => {
  lanceIt('a search needs no file of an index that was read before', async () => {
    const server = await opened()
    const { catalog } = server
    const remote = await server.remote()
    const search = { full_text_query: { string_query: { query: 'cat' } }, columns: ['name'] } as never
    const ways: Readonly<Record<string, (id: string[]) => Promise<unknown>>> = {
      method: (id) => catalog.prewarmTableIndex({ id, index_name: 'text_idx' }),
      remote: async ([name]) => (await remote.openTable(name!)).prewarmIndex('text_idx'),
      command: async ([name]) => {
        const args = ['prewarm-index', server.url, name!, 'text_idx', '--token', server.token]
        const { code, err } = await run(args)
        expect([code, err]).toEqual([0, ''])
      },
      cold: async () => {},
    }
    for (const [way, prewarm] of Object.entries(ways)) {
      const id = [way]
      await catalog.createTable({ id, data })
      await catalog.createTableIndex({ id, column: 'text', index_type: 'FTS' })
      await prewarm(id)
      const { location } = await catalog.describeTable({ id })
      await rm(join(fileURLToPath(location!), '_indices'), { recursive: true })
      const found = await rowsOf(catalog, id, search).then(
        (rows) => rows.length,
        ({ code }) => code,
      )
      expect([way, found]).toEqual([way, way === 'cold' ? 'InvalidTableState' : 10])
    }
  })

  lanceIt('an unknown index is refused, for the remote client too', async () => {
    const server = await opened()
    const id = ['t']
    await server.catalog.createTable({ id, data })
    await server.catalog.createTableIndex({ id, column: 'text', index_type: 'FTS' })
    const refused = { code: 'TableIndexNotFound', message: expect.stringContaining('text_idx') }
    await expect(server.catalog.prewarmTableIndex({ id, index_name: 'x' })).rejects.toMatchObject(refused)
    const table = await (await server.remote()).openTable('t')
    await expect(table.prewarmIndex('x')).rejects.toThrow(/x/)
    await table.prewarmIndex('text_idx')
  })
})

describe('how writers share out rows', () => {
  lanceIt('is told as LanceDB set it, at each version, and null where nothing is set', async () => {
    const server = await opened()
    const { catalog } = server
    const namespace = await server.namespace()
    const remote = await server.remote()
    const specs: LsmWriteSpec[] = [
      { specType: 'unsharded' },
      { specType: 'identity', column: 'name' },
      { specType: 'bucket', column: 'name', numBuckets: 4, writerConfigDefaults: { durable_write: 'true' } },
    ]
    for (const [i, spec] of specs.entries()) {
      const id = [`t${i}`]
      const schema = {
        fields: ['name', 'text'].map((name) => ({
          name,
          nullable: name === 'text',
          type: { type: 'string' },
        })),
      }
      await catalog.createTable({ id, data, schema })
      const table = await namespace.openTable(id[0]!)
      await table.setUnenforcedPrimaryKey('name')
      await table.setLsmWriteSpec(spec)
      expect((await catalog.getLsmWriteSpec({ id, version: 1 })).lsm_write_spec).toBe(null)
      const { column, numBuckets, writerConfigDefaults = {} } = spec
      expect((await catalog.getLsmWriteSpec({ id })).lsm_write_spec).toEqual({
        sharding: {
          mode: spec.specType,
          ...(column && { column }),
          ...(numBuckets && { num_buckets: numBuckets }),
        },
        maintained_indexes: [],
        writer_config_defaults: writerConfigDefaults,
      })
      expect(await (await remote.openTable(id[0]!)).getLsmWriteSpec()).toEqual(await table.getLsmWriteSpec())
    }
  })
})

describe('what the remote client refuses by itself', () => {
  lanceIt('is done by the client that writes the files, on the same table', async () => {
    const server = await opened()
    const remote = await (await server.remote()).createTable('t', data as Record<string, unknown>[])
    await remote.add(data)
    await expect(remote.optimize()).rejects.toThrow('not supported')
    const table = await (await server.namespace()).openTable('t')
    const { compaction } = await table.optimize()
    expect(compaction).toMatchObject({ fragmentsRemoved: 2, fragmentsAdded: 1 })
    const { num_fragments } = (await server.catalog.getTableStats({ id: ['t'] })).fragment_stats
    expect([num_fragments, await remote.countRows()]).toEqual([1, 80])
  })
})
