import * as v from 'valibot'
import type { Identifier } from '../../base/model/identifier.ts'
import type { IcebergEndpoint } from '../endpoint-names.ts'
import type { Entries } from '../records/entries.ts'
import type { Format, Kind } from '../records/formats.ts'
import type { Loaded } from '../records/lookup.ts'
import { checkBody, identifier } from './body.ts'
import type { Asked, Endpoint } from './endpoint.ts'
import { namesOf, nextPage, pageOf } from './paging.ts'

/* What the endpoints of tables and those of views have in common. */

const renamed = v.object({ source: identifier, destination: identifier })
// The specification has `overwrite` for tables only.
const registered = v.object({
  name: v.pipe(v.string(), v.nonEmpty()),
  'metadata-location': v.pipe(v.string(), v.nonEmpty()),
  overwrite: v.nullish(v.boolean()),
})

/** The members of a body that changes a table or view. */
export const changeMembers = {
  requirements: v.nullish(v.array(v.unknown()), []),
  updates: v.nullish(v.array(v.unknown()), []),
}

/** The endpoints that list, look for and rename, by their names in the specification. */
export function commonEndpoints(
  kind: Kind,
  { list, exists, rename }: Readonly<Record<'list' | 'exists' | 'rename', IcebergEndpoint>>,
): readonly Endpoint[] {
  return [
    {
      name: list,
      method: 'GET',
      path: `namespaces/{namespace}/${kind}s`,
      access: 'listTables',
      keptAs: 'listTables',
      run: async ({ entries }, { namespace, query, request }) => {
        const { names, next } = await namesOf(pageOf(query), (page) =>
          entries.list({ kind, namespace, ...page }, request),
        )
        return { body: { identifiers: names.map((name) => ({ namespace, name })), ...nextPage(next) } }
      },
    },
    {
      name: exists,
      method: 'HEAD',
      path: `namespaces/{namespace}/${kind}s/{name}`,
      access: 'tableExists',
      run: async ({ entries }, { id, request }) => {
        await entries.find(kind, id, request)
        return {}
      },
    },
    {
      name: rename,
      method: 'POST',
      path: `${kind}s/rename`,
      body: 'json',
      run: async ({ entries }, { request }) => {
        const { source, destination } = checkBody(renamed, request.body)
        const [from, to] = [nameOf(source), nameOf(destination)]
        await request.authorize('renameTable', from)
        await request.authorize('renameTable', to)
        await entries.rename({ kind, from, to }, request)
        return {}
      },
    },
  ]
}

/** Points a table or view at the metadata file that the body names. */
export async function register<Metadata extends object>(
  entries: Entries,
  format: Format<Metadata>,
  { namespace, request }: Asked,
): Promise<Loaded<Metadata>> {
  const { name, overwrite, 'metadata-location': url } = checkBody(registered, request.body)
  const id = [...namespace, name]
  await request.authorize('registerTable', id, url)
  return entries.register({ format, id, url, overwrite: overwrite ?? false }, request)
}

/** The identifier of a new table or view, and where it will lie: at the location that is given, or one of the catalog's. */
export async function placeOf(
  entries: Entries,
  { namespace, request }: Asked,
  { name, location: given }: { readonly name: string; readonly location?: string | null | undefined },
): Promise<{ readonly id: Identifier; readonly location: string }> {
  const id = [...namespace, name]
  await request.authorize('declareTable', id, given ?? undefined)
  const location = given ?? (await entries.newLocation(id, request))
  return { id, location: location.replace(/\/+$/, '') }
}

export function nameOf({ namespace, name }: v.InferOutput<typeof identifier>): Identifier {
  return [...namespace, name]
}
