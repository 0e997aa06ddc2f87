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
import { checkBody } from './body.ts'
import type { Asked, Endpoint, EndpointAnswer, Served } from './endpoint.ts'
import { changeMembers, commonEndpoints, placeOf, register } from './kinds.ts'

const created = v.object({
  name: v.pipe(v.string(), v.nonEmpty()),
  location: v.nullish(v.string()),
  schema: v.unknown(),
  'view-version': v.unknown(),
  properties: v.nullish(v.unknown()),
})
const replaced = v.object(changeMembers)

/** The endpoints for views. */
export const viewEndpoints: readonly Endpoint[] = [
  ...commonEndpoints('view', { list: 'listViews', exists: 'viewExists', rename: 'renameView' }),
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
    run: async ({ entries }, asked) => viewAnswer(await register(entries, viewFormat, asked)),
  },
  {
    name: 'loadView',
    method: 'GET',
    path: 'namespaces/{namespace}/views/{name}',
    access: 'describeTable',
    run: async ({ entries }, { id, request }) => viewAnswer(await entries.load(viewFormat, id, request)),
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
]

function changeOf(
  id: Identifier,
  more: Pick<Change<ViewMetadata>, 'require' | 'apply' | 'creates'>,
): Change<ViewMetadata> {
  return { format: viewFormat, id, ...more }
}

async function createView({ entries }: Served, asked: Asked): Promise<EndpointAnswer> {
  const { request } = asked
  const body = checkBody(created, request.body)
  const { id, location } = await placeOf(entries, asked, body)
  const change = changeOf(id, {
    creates: true,
    require: () => {},
    apply: (_, { now, newUuid }) =>
      newViewMetadata({
        schema: body.schema,
        viewVersion: body['view-version'],
        location,
        properties: body.properties ?? {},
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
