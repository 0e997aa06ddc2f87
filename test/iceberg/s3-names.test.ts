import { expect, test } from 'vitest'
import { memoryContent } from '../../src/contents/memory/index.ts'
import { icebergRest } from '../../src/iceberg/index.ts'
import { serve } from '../../src/server/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { IcebergRequests, schema } from './rest.ts'

test.each(['s3', 's3a', 's3n', 'S3A'])(
  'a location that begins with %s:// is of the same bucket',
  async (scheme) => {
    const content = memoryContent()
    await using catalog = await openCatalog({ store: memoryStore(), content, root: 's3://bucket' })
    await using server = await serve(catalog, { auth: false, port: 0, mounts: [icebergRest(catalog)] })
    const rest = new IcebergRequests(`${server.url}/iceberg`)
    await rest.post('namespaces', { namespace: ['prod'] })
    const location = `${scheme}://bucket/lake/a`
    const made = await rest.post('namespaces/prod/tables', { name: 'a', schema, location })
    // Clients read the location as they wrote it.
    expect(made.body.metadata.location).toBe(location)
    const set = [{ action: 'set-properties', updates: { owner: 'ada' } }]
    const changed = await rest.post('namespaces/prod/tables/a', { requirements: [], updates: set })
    expect(changed.body['metadata-location']).toMatch(/^[\w]+:\/\/bucket\/lake\/a\/metadata\/00001-/)
    expect((await rest.get('namespaces/prod/tables/a')).body.metadata.properties.owner).toBe('ada')
    expect((await catalog.describeTable({ id: ['prod', 'a'] })).location).toBe('s3://bucket/lake/a')
    expect(await namesIn(content)).toEqual([
      expect.stringMatching(/^lake\/a\/metadata\/00000-/),
      expect.stringMatching(/^lake\/a\/metadata\/00001-/),
    ])
    // Whatever it is called, it is the folder of one table.
    const again = { name: 'b', schema, location: 's3://bucket/lake/a' }
    expect((await rest.post('namespaces/prod/tables', again)).status).toBe(409)
    // Another catalog registers it, by either name.
    expect((await rest.post('namespaces/prod/tables/a/unregister', {})).status).toBe(200)
    const file = changed.body['metadata-location'].replace(/^\w+:/, 's3n:')
    const registered = await rest.post('namespaces/prod/register', { name: 'c', 'metadata-location': file })
    expect(registered.body.metadata.properties.owner).toBe('ada')
    const more = await rest.post('namespaces/prod/tables/c', {
      requirements: [],
      updates: [{ action: 'remove-properties', removals: ['owner'] }],
    })
    expect(more.status).toBe(200)
    expect((await rest.send('DELETE', 'namespaces/prod/tables/c?purgeRequested=true')).status).toBe(204)
    await expect.poll(() => namesIn(content)).toEqual([])
  },
)

async function namesIn(content: ReturnType<typeof memoryContent>) {
  const names: string[] = []
  for await (const { path } of content.list('lake/')) names.push(path)
  return names.sort()
}
