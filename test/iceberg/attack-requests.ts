import type { Draw } from '../support/draw.ts'
import { schema } from './rest.ts'

/** What an attacker may name: things of its own, and what it knows of another. */
export interface Known {
  readonly namespaces: readonly (readonly string[])[]
  readonly tables: readonly (readonly string[])[]
  readonly views: readonly (readonly string[])[]
  readonly locations: readonly string[]
  readonly metadata: readonly string[]
  readonly transactions: readonly string[]
  readonly etags: readonly string[]
}

/** What stands for the variables of a path and in a body. `name` is of a table or a view. */
export interface Aim {
  readonly namespace: readonly string[]
  readonly name: string
}

/** What a body can be made of. */
export interface Means {
  readonly location: string
  readonly metadata: string
  /** Another table or view that the body names. */
  readonly other: readonly string[]
}

const identifierOf = (id: readonly string[]) => ({ namespace: id.slice(0, -1), name: id.at(-1)! })

/** A version of a view. */
export const viewVersion = {
  'version-id': 1,
  'timestamp-ms': 1_700_000_000_000,
  'schema-id': 0,
  summary: {},
  representations: [{ type: 'sql', sql: 'SELECT 1', dialect: 'spark' }],
  'default-namespace': ['x'],
}

const change = (id: readonly string[], updates: readonly object[]) => ({
  identifier: identifierOf(id),
  requirements: [],
  updates,
})
const setOwner = { action: 'set-properties', updates: { owner: 'mallory' } }

/** Bodies that reach for another's things, for each endpoint that has one. */
export const bodies: Readonly<Record<string, (aim: Aim, means: Means) => readonly unknown[]>> = {
  createNamespace: ({ namespace, name }) => [{ namespace: [...namespace, name] }],
  updateProperties: () => [{ updates: { owner: 'mallory' }, removals: ['note'] }],
  createTable: ({ name }, { location }) => [
    { name, schema },
    { name, schema, location },
    { name, schema, location, 'stage-create': true },
    { name, schema, properties: { 'write.metadata.path': location, 'write.data.path': location } },
  ],
  registerTable: ({ name }, { metadata }) => [
    { name, 'metadata-location': metadata },
    { name, 'metadata-location': metadata, overwrite: true },
  ],
  updateTable: ({ namespace, name }, { location }) => [
    change([...namespace, name], [setOwner]),
    {
      requirements: [{ type: 'assert-table-uuid', uuid: '00000000-0000-4000-8000-000000000000' }],
      updates: [],
    },
    { updates: [{ action: 'set-location', location }] },
    { updates: [{ action: 'set-properties', updates: { 'write.metadata.path': location } }] },
    { requirements: [{ type: 'assert-create' }], updates: [{ action: 'set-location', location }] },
  ],
  unregisterTable: () => [{}],
  signRequest: (_, { location }) => [
    { method: 'GET', region: 'us-east-1', uri: `https://bucket.s3.amazonaws.com/${location}`, headers: {} },
  ],
  reportMetrics: () => [{ 'report-type': 'scan-report' }],
  renameTable: ({ namespace, name }, { other }) => [
    { source: { namespace, name }, destination: identifierOf(other) },
    { source: identifierOf(other), destination: { namespace, name } },
  ],
  commitTransaction: ({ namespace, name }, { other }) => [
    { 'table-changes': [change([...namespace, name], [setOwner])] },
    { 'table-changes': [change(other, [setOwner]), change([...namespace, name], [setOwner])] },
    { 'table-changes': [change([...namespace, name], [setOwner]), change(other, [setOwner])] },
  ],
  createView: ({ name }, { location }) => [
    { name, schema, 'view-version': viewVersion },
    { name, schema, 'view-version': viewVersion, location },
  ],
  registerView: ({ name }, { metadata }) => [{ name, 'metadata-location': metadata }],
  replaceView: (_, { location }) => [
    { updates: [setOwner] },
    { updates: [{ action: 'set-location', location }] },
  ],
  renameView: ({ namespace, name }, { other }) => [
    { source: { namespace, name }, destination: identifierOf(other) },
    { source: identifierOf(other), destination: { namespace, name } },
  ],
}

/** Ways to write a text in a path that some servers take for the same. */
export function spelled(text: string, draw: Draw): string {
  const plain = encodeURIComponent(text)
  return draw.chance(0.6)
    ? plain
    : draw.oneOf([
        plain.replaceAll('%', '%25'),
        `${plain}/`,
        `.%2F${plain}`,
        `..%2F${plain}`,
        `%2e%2e%1F${plain}`,
        `${plain}%00`,
        `${plain}%1F`,
        `%1F${plain}`,
        `${plain}%20`,
        `${plain}+`,
        text.toUpperCase(),
        [...text].map((one) => `%${one.codePointAt(0)!.toString(16).padStart(2, '0')}`).join(''),
      ])
}

/** Other ways to write a location. */
export function placed(location: string, draw: Draw): string {
  const parent = location.slice(0, location.lastIndexOf('/'))
  const last = location.slice(parent.length + 1)
  return draw.chance(0.5)
    ? location
    : draw.oneOf([
        `${location}/`,
        `${location}/data`,
        parent,
        `${parent}/x/../${last}`,
        `${parent}/./${last}`,
        `${parent}//${last}`,
        `${parent}/%2e%2e/${last}`,
        `${parent}/${encodeURIComponent(last).replace(/./, (one) => `%${one.codePointAt(0)!.toString(16)}`)}`,
        location.replace(/^(\w+):\/\//, '$1:'),
        location.replace(/^\w+/, (scheme) => scheme.toUpperCase()),
        `${location}?x`,
        `${location}#x`,
      ])
}
