import assert from 'node:assert/strict'
import { wallClock } from '../../../base/time.ts'
import { type Case, rule, type Topic } from '../suite.ts'
import { type EndpointName, endpoints, features, type IcebergFeature } from './endpoints.ts'
import {
  type Answered,
  createTable,
  failed,
  good,
  type IcebergTrial,
  type Part,
  schema,
  tableAt,
} from './trial.ts'

/** How a server shows that it lacks a feature. */
const shown: Readonly<Record<IcebergFeature, (trial: IcebergTrial) => Promise<void>>> = {
  etags: async (trial) => {
    await createTable(trial, 't')
    assert.equal((await trial.ask('GET', tableAt(trial, 't'))).headers.get('etag'), null)
  },
  pages: async (trial) => {
    for (const name of ['a', 'b']) await createTable(trial, name)
    const query = { pageToken: '', pageSize: '1' }
    const page = good(await trial.ask('GET', ['namespaces', trial.home, 'tables'], { query }))
    assert.deepEqual([page.identifiers.length, page['next-page-token'] ?? null], [2, null])
  },
  nested: async ({ ask, home }) =>
    failed(await ask('POST', ['namespaces'], { body: { namespace: [...home, 'a'] } }), [400, 404, 406]),
  v3: async ({ ask, home }) => {
    const body = { name: 't', schema, properties: { 'format-version': '3' } }
    failed(await ask('POST', ['namespaces', home, 'tables'], { body }), [400, 406])
  },
}

/** One case for each endpoint and feature that a server lacks. Its text names the cases that are left out without it. */
export function lacking(
  missing: ReadonlySet<string>,
  left: readonly Case<IcebergTrial>[],
): Topic<IcebergTrial> {
  const note = (name: string) => {
    const unjudged = left.filter(({ needs }) => needs.includes(name)).map(({ id }) => id)
    return unjudged.length > 0 ? ` Not judged without it: ${unjudged.join(', ')}.` : ''
  }
  const ofEndpoints = (Object.keys(endpoints) as EndpointName[]).filter((name) => missing.has(name))
  const ofFeatures = (Object.keys(features) as IcebergFeature[]).filter((name) => missing.has(name))
  return {
    name: 'what is lacking',
    cases: [
      ...ofEndpoints.map((name) =>
        rule(
          `iceberg.lacking.${name}`,
          'Iceberg REST, getConfig, endpoints',
          `${endpoints[name]} is not listed by config, and is refused.${note(name)}`,
          [],
          (trial: IcebergTrial) => refused(trial, name),
        ),
      ),
      ...ofFeatures.map((name) =>
        rule(
          `iceberg.lacking.${name}`,
          'the option lacks',
          `${features[name]}${note(name)}`,
          [],
          shown[name],
        ),
      ),
    ],
  }
}

/** Requests that would be right for endpoints with a body, of a table `t`. */
function bodyFor(name: EndpointName, { home }: IcebergTrial, table: Answered): object {
  const identifier = { namespace: home, name: 't' }
  const updates = [{ action: 'set-properties', updates: { a: 'b' } }]
  const view = {
    'version-id': 1,
    'timestamp-ms': wallClock(),
    'schema-id': 0,
    summary: {},
    representations: [{ type: 'sql', sql: 'SELECT 1', dialect: 'spark' }],
    'default-namespace': home,
  }
  switch (name) {
    case 'updateProperties':
      return { updates: { a: 'b' }, removals: [] }
    case 'registerTable':
      return { name: 'u', 'metadata-location': table['metadata-location'] }
    case 'renameTable':
    case 'renameView':
      return { source: identifier, destination: { ...identifier, name: 'u' } }
    case 'commitTransaction':
      return { 'table-changes': [{ identifier, requirements: [], updates }] }
    case 'createView':
      return { name: 'u', schema, 'view-version': view, properties: {} }
    default:
      return { requirements: [], updates }
  }
}

async function refused(trial: IcebergTrial, name: EndpointName): Promise<void> {
  const [method, path] = endpoints[name].split(' ') as [string, string]
  const parts: Part[] = path
    .replace('/v1/{prefix}/', '')
    .split('/')
    .map((part) => (part === '{namespace}' ? trial.home : part.startsWith('{') ? 't' : part))
  const table = await createTable(trial, 't')
  const reply = await trial.ask(method, parts, method === 'POST' ? { body: bodyFor(name, trial, table) } : {})
  assert.ok(reply.status >= 400, reply.told)
  if (method !== 'HEAD') failed(reply, reply.status)
}
