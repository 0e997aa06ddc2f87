import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { icebergFormats } from '../../../src/iceberg/index.ts'
import { lines, run } from '../../cli/run.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { describeWith } from '../../support/describe-with.ts'
import { limitEach } from '../../support/time-limit.ts'
import { makeTable, makeView, servedDirectory } from '../directory.ts'
import { IcebergRequests, schema } from '../rest.ts'
import { kitClasses } from './kit.ts'
import { startIceberg } from './server.ts'

limitEach(300)

describeWith('import-iceberg from the reference server in Java', await kitClasses(), () => {
  it('brings its namespaces, tables and views, and later what changed', async () => {
    const server = await startIceberg('reference')
    onTestFinished(() => server.close())
    // Its configuration says that it joins namespaces by %2E.
    const source = new IcebergRequests(server.url)
    for (const namespace of [['prod'], ['prod', 'eu'], ['dev']])
      await source.post('namespaces', { namespace, properties: { owner: namespace.join('-') } })
    await makeTable(source, 't', { commits: 3 })
    await makeView(source, 'v')
    const made = await source.post('namespaces/prod%2Eeu/tables', { name: 'deep', schema })
    expect(made.status).toBe(200)
    const directory = join(await freshFolder(), 'catalog')
    const command = ['import-iceberg', server.url, '--into', directory]
    const without = await run(command)
    expect(without.code).toBe(1)
    const [, root] = /Give --location-root (\S+), here/.exec(without.err) ?? []
    expect(root).toBe(join(server.warehouse, 'prod'))
    const first = await run([...command, '--location-root', root!])
    expect({ err: first.err, out: lines(first) }).toMatchObject({
      err: '',
      out: [{ namespaces: 3, created: 0, registered: 3, failed: 0 }],
    })
    const updates = [{ action: 'set-properties', updates: { a: 'b' } }]
    expect((await source.post('namespaces/prod/tables/t', { requirements: [], updates })).status).toBe(200)
    expect(lines(await run([...command, '--location-root', root!]))).toMatchObject([{ updated: 1, same: 2 }])
    const { rest, catalog } = await servedDirectory(directory, { locationRoots: [root!] })
    for (const path of ['prod/tables/t', 'prod/views/v', 'prod%1Feu/tables/deep']) {
      const [theirs, ours] = await Promise.all([
        source.get(`namespaces/${path.replace('%1F', '%2E')}`),
        rest.get(`namespaces/${path}`),
      ])
      expect(ours!.body['metadata-location']).toBe(theirs!.body['metadata-location'])
      expect(ours!.body.metadata).toMatchObject({ location: theirs!.body.metadata.location })
    }
    expect((await rest.get('namespaces/prod%1Feu')).body.properties).toMatchObject({ owner: 'prod-eu' })
    // What Java wrote is whole, and goes on here.
    expect(await catalog.verify({ formats: icebergFormats })).toMatchObject({ ok: true, elsewhere: 0 })
    expect(
      (
        await rest.post('namespaces/prod/tables/t', {
          requirements: [],
          updates: [{ action: 'set-properties', updates: { c: 'd' } }],
        })
      ).status,
    ).toBe(200)
  })
})
