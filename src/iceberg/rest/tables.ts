import * as v from 'valibot'
import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { atOnce, inSlices, type Steps } from '../../base/scheduling/time-slice.ts'
import { IcebergError, illegalArgument } from '../errors.ts'
import {
  checkRequirements,
  isCreate,
  newTableMetadata,
  referencedSnapshots,
  updatedMetadata,
} from '../metadata/index.ts'
import type { TableMetadata } from '../metadata/types.ts'
import type { Change } from '../records/commit.ts'
import type { Loaded } from '../records/lookup.ts'
import { tableFormat } from '../records/table-format.ts'
import { checkBody, identifier } from './body.ts'
import { credentialsFor, wants } from './credentials.ts'
import type { Asked, Endpoint, EndpointAnswer, Served } from './endpoint.ts'
import { etagOf, isKnown } from './etags.ts'
import { changeMembers, commonEndpoints, nameOf, placeOf, register } from './kinds.ts'
import { signingConfig } from './signing.ts'

const created = v.object({
  name: v.pipe(v.string(), v.nonEmpty()),
  location: v.nullish(v.string()),
  schema: v.unknown(),
  'partition-spec': v.nullish(v.unknown()),
  'write-order': v.nullish(v.unknown()),
  'stage-create': v.nullish(v.boolean()),
  properties: v.nullish(v.unknown()),
})
const commit = v.object({
  identifier: v.nullish(identifier),
  ...changeMembers,
})
const commits = v.object({ 'table-changes': v.pipe(v.array(commit), v.minLength(1, 'must name a table')) })

/** The endpoints for tables. */
export const tableEndpoints: readonly Endpoint[] = [
  ...commonEndpoints('table', { list: 'listTables', exists: 'tableExists', rename: 'renameTable' }),
  {
    name: 'createTable',
    method: 'POST',
    path: 'namespaces/{namespace}/tables',
    body: 'json',
    run: createTable,
  },
  {
    name: 'registerTable',
    method: 'POST',
    path: 'namespaces/{namespace}/register',
    body: 'json',
    run: async (served, asked) => {
      const loaded = await register(served.entries, tableFormat, asked)
      return afterCommit(() => tableAnswer(served, loaded, asked.request))
    },
  },
  {
    name: 'loadTable',
    method: 'GET',
    path: 'namespaces/{namespace}/tables/{name}',
    access: 'describeTable',
    run: loadTable,
  },
  {
    name: 'updateTable',
    method: 'POST',
    path: 'namespaces/{namespace}/tables/{name}',
    access: 'createTableVersion',
    body: 'json',
    run: async (served, { id, request }) => {
      const [loaded] = await served.entries.commit(
        [changeOf(served, id, checkBody(commit, request.body))],
        request,
      )
      // It brings no credentials: a hook that fails now would tell that the commit was not made.
      return metadataAnswer(loaded!)
    },
  },
  {
    name: 'dropTable',
    method: 'DELETE',
    path: 'namespaces/{namespace}/tables/{name}',
    access: 'dropTable',
    run: async ({ entries }, { id, query, request }) => {
      const purge = query.get('purgeRequested')?.toLowerCase() === 'true'
      await entries.drop({ kind: 'table', id, purge }, request)
      return {}
    },
  },
  {
    name: 'unregisterTable',
    method: 'POST',
    path: 'namespaces/{namespace}/tables/{name}/unregister',
    access: 'deregisterTable',
    run: async ({ entries }, { id, request }) => {
      const { url, metadata } = await entries.unregister(tableFormat, id, request)
      return { body: { 'metadata-location': url, metadata } }
    },
  },
  {
    name: 'loadCredentials',
    method: 'GET',
    path: 'namespaces/{namespace}/tables/{name}/credentials',
    access: 'describeTable',
    run: async (served, { id, request }) => {
      await served.entries.find('table', id, request)
      return { body: { 'storage-credentials': await credentialsFor(served, id, request) } }
    },
  },
  {
    name: 'reportMetrics',
    method: 'POST',
    path: 'namespaces/{namespace}/tables/{name}/metrics',
    access: 'describeTable',
    body: 'json',
    // Reports are taken and not kept, as the specification allows.
    run: async ({ entries }, { id, request }) => {
      await entries.find('table', id, request)
      return {}
    },
  },
  {
    name: 'commitTransaction',
    method: 'POST',
    path: 'transactions/commit',
    body: 'json',
    run: async (served, { request }) => {
      const changes = checkBody(commits, request.body)['table-changes'].map((change) => {
        if (change.identifier == null)
          throw illegalArgument('Invalid table change: the identifier is missing')
        return changeOf(served, nameOf(change.identifier), change)
      })
      for (const { id } of changes) await request.authorize('createTableVersion', id)
      await served.entries.commit(changes, request)
      return {}
    },
  },
]

function changeOf(
  { clientClocks }: Served,
  id: Identifier,
  { requirements, updates }: v.InferOutput<typeof commit>,
): Change<TableMetadata> {
  return {
    format: tableFormat,
    id,
    creates: isCreate(requirements),
    require: (base) => checkRequirements(requirements, base),
    apply: (base, { now, newUuid, previous }) =>
      runSteps(
        updatedMetadata(base, updates, {
          now: clientClocks
            ? timesOf(base, updates).reduce((latest, time) => Math.max(latest, time), now)
            : now,
          newUuid,
          ...(previous !== undefined && { previousLocation: previous }),
        }),
        base,
      ),
  }
}

/** More snapshots take work with rests. */
const mostAtOnce = 1_000

function runSteps<T>(steps: Steps<T>, base: TableMetadata | undefined): T | Promise<T> {
  const isShort = base === undefined || base.snapshots.length <= mostAtOnce
  return isShort ? atOnce(steps) : inSlices(steps, undefined)
}

/** When a table last changed, by the clocks of its clients, and when the snapshots that updates add were made. */
function timesOf(base: TableMetadata | undefined, updates: readonly unknown[]): number[] {
  const added = updates.map((update) => {
    const { snapshot } = (update ?? {}) as { readonly snapshot?: Readonly<Record<string, unknown>> | null }
    return snapshot?.['timestamp-ms']
  })
  const times = [base?.['last-updated-ms'], base?.['snapshot-log'].at(-1)?.['timestamp-ms'], ...added]
  return times.filter((time) => typeof time === 'number')
}

async function createTable(served: Served, asked: Asked): Promise<EndpointAnswer> {
  const { request } = asked
  const body = checkBody(created, request.body)
  const { id, location } = await placeOf(served.entries, asked, body)
  const make = (now: number, uuid: string) =>
    newTableMetadata({
      schema: body.schema,
      partitionSpec: body['partition-spec'] ?? undefined,
      sortOrder: body['write-order'] ?? undefined,
      location,
      properties: body.properties ?? {},
      uuid,
      now,
    })
  if (body['stage-create']) {
    const { now, uuid } = await served.entries.requireFree('table', id, request)
    const staged = make(now, uuid)
    await served.entries.makeFolders(id, location, request)
    return { body: { metadata: staged, config: {} } }
  }
  const change: Change<TableMetadata> = {
    format: tableFormat,
    id,
    creates: true,
    require: () => {},
    apply: (_, { now, newUuid }) => make(now, newUuid()),
  }
  const [loaded] = await served.entries.commit([change], request)
  return afterCommit(async () => {
    await served.entries.makeFolders(id, location, request)
    return tableAnswer(served, loaded!, request)
  })
}

const modes = ['all', 'refs'] as const

async function loadTable(served: Served, { id, query, request }: Asked): Promise<EndpointAnswer> {
  const mode = modes.find((one) => one === (query.get('snapshots') ?? 'all').toLowerCase())
  if (mode === undefined)
    throw illegalArgument(`Invalid snapshots: ${query.get('snapshots')} is neither all nor refs`)
  const loaded = await served.entries.load(tableFormat, id, request)
  const etag = etagOf(loaded.url, mode)
  if (isKnown(request.headers['if-none-match'], etag)) return { status: 304, headers: { etag } }
  const metadata =
    mode === 'refs' ? await runSteps(referencedSnapshots(loaded.metadata), loaded.metadata) : loaded.metadata
  const answer = await tableAnswer(served, { ...loaded, metadata }, request)
  return { ...answer, headers: { etag } }
}

async function tableAnswer(
  served: Served,
  { id, url, metadata }: Loaded<TableMetadata>,
  request: Asked['request'],
): Promise<EndpointAnswer> {
  const credentials = wants('vended-credentials', request.headers)
    ? await credentialsFor(served, id, request)
    : []
  // Who has credentials needs no signatures.
  const signing = credentials.length === 0 ? await signingConfig(served, { id, request }) : {}
  const answer = metadataAnswer({ url, metadata })
  return {
    ...answer,
    body: {
      ...answer.body,
      config: Object.assign({}, signing, ...credentials.map(({ config }) => config)),
      ...(credentials.length > 0 && { 'storage-credentials': credentials }),
    },
  }
}

function metadataAnswer({ url, metadata }: Pick<Loaded<TableMetadata>, 'url' | 'metadata'>) {
  return { body: { 'metadata-location': url, metadata }, headers: { etag: etagOf(url, 'all') } }
}

/** Does what comes after a change. When that fails, the client must not take the change for one that was not made. */
async function afterCommit<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    // Any other error is answered as one of the server, and logged.
    if (!(cause instanceof CatalogError || cause instanceof IcebergError)) throw cause
    const message = `The change was made, but what follows it failed: ${cause.message}`
    throw new IcebergError('CommitStateUnknownException', message, { cause })
  }
}
