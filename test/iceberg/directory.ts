import { join } from 'node:path'
import { icebergRest } from '../../src/iceberg/index.ts'
import { serve } from '../../src/server/index.ts'
import { type DirectoryCatalogOptions, openCatalog } from '../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../support/catalogs.ts'
import { IcebergRequests, schema, snapshotUpdates } from './rest.ts'

/** A catalog in a directory, and its Iceberg REST over HTTP. */
export async function servedDirectory(given?: string, options: DirectoryCatalogOptions = {}) {
  const directory = given ?? join(await freshFolder(), 'catalog')
  const catalog = closedAfterwards(await openCatalog(directory, options))
  const server = await serve(catalog, {
    auth: false,
    port: 0,
    mounts: [icebergRest(catalog)],
    // Other tests make this process busy.
    limits: { eventLoopDelay: 0 },
  })
  const url = `${server.url}/iceberg`
  const close = async () => {
    await server.close()
    await catalog.close()
  }
  return { directory, catalog, url, rest: new IcebergRequests(url), close }
}

/** Creates a table with `commits` snapshots, below the namespace `prod`. Returns its last metadata file. */
export async function makeTable(
  rest: IcebergRequests,
  name: string,
  { commits = 1, location }: { readonly commits?: number; readonly location?: string } = {},
): Promise<string> {
  const made = await rest.post('namespaces/prod/tables', { name, schema, ...(location && { location }) })
  if (made.status !== 200) throw new Error(JSON.stringify(made.body))
  let url = made.body['metadata-location'] as string
  for (let n = 1; n <= commits; n++) url = await commitTo(rest, name, n)
  return url
}

export async function commitTo(rest: IcebergRequests, name: string, n: number): Promise<string> {
  const updates = snapshotUpdates(n, { ...(n > 1 && { parent: n - 1 }), sequence: n })
  const { status, body } = await rest.post(`namespaces/prod/tables/${name}`, { requirements: [], updates })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body['metadata-location']
}

/** Creates a view below the namespace `prod`. */
export function makeView(rest: IcebergRequests, name: string) {
  return rest.post('namespaces/prod/views', {
    name,
    schema,
    'view-version': {
      'version-id': 1,
      'timestamp-ms': Date.now(),
      'schema-id': 0,
      summary: {},
      representations: [{ type: 'sql', sql: 'select 1 as x', dialect: 'spark' }],
      'default-namespace': ['prod'],
    },
    properties: {},
  })
}
