import * as v from 'valibot'
import type { Identifier } from '../../base/model/identifier.ts'
import {
  applyViewUpdates,
  checkViewRequirements,
  newViewMetadata,
  type ViewMetadata,
} from '../metadata/view-metadata.ts'
import type { Change } from '../records/commit.ts'
import type { Loaded } from '../records/lookup.ts'
import { viewFormat } from '../records/view-format.ts'
import { checkBody, identifier } from './body.ts'
import type { Asked, Endpoint, EndpointAnswer, Served } from './endpoint.ts'
import { listed, nameOf } from './tables.ts'

const created = v.object({
  name: v.pipe(v.string(), v.nonEmpty()),
  location: v.nullish(v.string()),
  schema: v.unknown(),
  'view-version': v.unknown(),
  properties: v.nullish(v.unknown()),
})
const registered = v.object({
  name: v.pipe(v.string(), v.nonEmpty()),
  'metadata-location': v.pipe(v.string(), v.nonEmpty()),
  // As for tables. The specification has it not for views.
  overwrite: v.nullish(v.boolean()),
})
const replaced = v.object({
  requirements: v.nullish(v.array(v.unknown()), []),
  updates: v.nullish(v.array(v.unknown()), []),
})
const renamed = v.object({ source: identifier, destination: identifier })

/** The endpoints for views. */
export const viewEndpoints: readonly Endpoint[] = [
  {
    name: 'listViews',
    method: 'GET',
    path: 'namespaces/{namespace}/views',
    access: 'listTables',
    run: (served, asked) => listed(served, asked, 'view'),
  },
  {
    name: 'createView',
    method: 'POST',
    path: 'namespaces/{namespace}/views',
    body: 'json',
    run: createView,
  },
  {
    name: 'registerView',
    method: 'POST',
    path: 'namespaces/{namespace}/register-view',
    body: 'json',
    run: async ({ entries }, { namespace, request }) => {
      const { name, overwrite, 'metadata-location': url } = checkBody(registered, request.body)
      const id = [...namespace, name]
      await request.authorize('registerTable', id, url)
      const asked = { format: viewFormat, id, url, overwrite: overwrite ?? false }
      return viewAnswer(await entries.register(asked, request))
    },
  },
  {
    name: 'loadView',
    method: 'GET',
    path: 'namespaces/{namespace}/views/{name}',
    access: 'describeTable',
    run: async ({ entries }, { id, request }) => viewAnswer(await entries.load(viewFormat, id, request)),
  },
  {
    name: 'viewExists',
    method: 'HEAD',
    path: 'namespaces/{namespace}/views/{name}',
    access: 'tableExists',
    run: async ({ entries }, { id, request }) => {
      await entries.find('view', id, request)
      return {}
    },
  },
  {
    name: 'replaceView',
    method: 'POST',
    path: 'namespaces/{namespace}/views/{name}',
    access: 'createTableVersion',
    body: 'json',
    run: async ({ entries }, { id, request }) => {
      const { requirements, updates } = checkBody(replaced, request.body)
      const change = changeOf(id, {
        require: (base) => checkViewRequirements(requirements, base),
        apply: (base, at) => applyViewUpdates(base, updates, at),
      })
      const [loaded] = await entries.commit([change], request)
      return viewAnswer(loaded!)
    },
  },
  {
    name: 'dropView',
    method: 'DELETE',
    path: 'namespaces/{namespace}/views/{name}',
    access: 'dropTable',
    run: async ({ entries }, { id, request }) => {
      await entries.drop({ kind: 'view', id, purge: false }, request)
      return {}
    },
  },
  {
    name: 'renameView',
    method: 'POST',
    path: 'views/rename',
    body: 'json',
    run: async ({ entries }, { request }) => {
      const { source, destination } = checkBody(renamed, request.body)
      const [from, to] = [nameOf(source), nameOf(destination)]
      await request.authorize('renameTable', from)
      await request.authorize('renameTable', to)
      await entries.rename({ kind: 'view', from, to }, request)
      return {}
    },
  },
]

function changeOf(
  id: Identifier,
  more: Pick<Change<ViewMetadata>, 'require' | 'apply' | 'creates'>,
): Change<ViewMetadata> {
  return { format: viewFormat, id, ...more }
}

async function createView({ entries }: Served, { namespace, request }: Asked): Promise<EndpointAnswer> {
  const { name, location: given, schema, properties, ...rest } = checkBody(created, request.body)
  const id = [...namespace, name]
  await request.authorize('declareTable', id, given ?? undefined)
  const location = given ?? (await entries.newLocation(id, request))
  const change = changeOf(id, {
    creates: true,
    require: () => {},
    apply: (_, { now, newUuid }) =>
      newViewMetadata({
        schema,
        viewVersion: rest['view-version'],
        location: location.replace(/\/+$/, ''),
        properties: properties ?? {},
        uuid: newUuid(),
        now,
      }),
  })
  const [loaded] = await entries.commit([change], request)
  return viewAnswer(loaded!)
}

function viewAnswer({ url, metadata }: Loaded<ViewMetadata>): EndpointAnswer {
  return { body: { 'metadata-location': url, metadata, config: {} } }
}
