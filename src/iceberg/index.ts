/**
 * Iceberg REST over a catalog: {@link icebergRest} is a protocol for the option `mounts` of `serve`.
 *
 * @module
 */

import { Readable } from 'node:stream'
import { invalid } from '../base/errors.ts'
import { idempotencyHeader } from '../base/model/idempotency-key.ts'
import { keyedChange } from '../catalog/formats/index.ts'
import type { OperationOptions } from '../catalog/index.ts'
import type { Mount, MountedRoute } from '../server/mount.ts'
import { errorStatuses, IcebergError, type IcebergErrorType } from './errors.ts'
import { parse, stringify } from './json.ts'
import { Entries } from './records/entries.ts'
import type { TransactionalCatalog } from './records/lookup.ts'
import { MetadataFiles, textOf } from './records/metadata-files.ts'
import { toItsEnd } from './records/once.ts'
import type { Endpoint, EndpointAnswer, Served, Variables } from './rest/endpoint.ts'
import { typeOfStatus } from './rest/problems.ts'
import { findEndpoint } from './rest/router.ts'

export { icebergFormats } from './records/verify.ts'
export {
  type IcebergImportOptions,
  type IcebergImportReport,
  type ImportedEntry,
  importIceberg,
  isOutOfReach,
} from './remote/import.ts'
export type { RemoteOptions } from './remote/rest-client.ts'

export interface IcebergRestOptions {
  /** Where it is served. Default: `/iceberg`, so clients get the URL `http://host:2333/iceberg`. */
  readonly path?: string | undefined
  /** Properties that clients take from `GET /v1/config`, such as `s3.endpoint`. Default: none. */
  readonly defaults?: Readonly<Record<string, string>> | undefined
  /**
   * Whether a change of a table is at least as late as all snapshots so far, for a catalog whose clock stands still: a
   * fake. Other catalogs refuse snapshots that are more than a minute ahead. Default: false.
   */
  readonly clientClocks?: boolean | undefined
  /** Most bytes of a metadata file. A larger one is not read, and a commit does not write it. Default: 128 MiB. */
  readonly metadataBytes?: number | undefined
}

/**
 * Serves the tables and views of a catalog to clients of Iceberg REST.
 *
 * ```ts
 * await using server = await serve(catalog, { auth: false, mounts: [icebergRest(catalog)] })
 * console.log(`${server.url}/iceberg`)
 * ```
 */
export function icebergRest(catalog: TransactionalCatalog, options: IcebergRestOptions = {}): Mount {
  if (typeof catalog?.transaction !== 'function')
    throw invalid('icebergRest needs a catalog with transactions, as openCatalog opens in this process.')
  const { path = '/iceberg', defaults = {}, clientClocks = false, metadataBytes } = options
  const served: Served = {
    catalog,
    entries: new Entries({ catalog, files: new MetadataFiles(metadataBytes) }),
    defaults,
    clientClocks,
  }
  return {
    path,
    route: (asked) => {
      const { endpoint, variables } = findEndpoint(asked.method, asked.path)
      return routeTo(served, endpoint, variables, asked.query)
    },
    parseJson: parse,
    ownAnswer: (error) =>
      error instanceof IcebergError ? problem(error.status, error.type, error.message) : undefined,
    answer: (code, detail, status, mayBeDone) =>
      mayBeDone ? stateUnknown(detail) : problem(status, typeOfStatus(code, status), detail),
  }
}

function routeTo(served: Served, endpoint: Endpoint, variables: Variables, query: string): MountedRoute {
  const { name, method, access, body = 'none', isPublic = false, keptAs } = endpoint
  const { namespace } = variables
  const changes = method === 'POST' || method === 'DELETE'
  const id = variables.name === '' ? namespace : [...namespace, variables.name]
  return {
    name: `iceberg.${name}`,
    subject: id,
    access: access === undefined ? [] : [{ operation: access, id }],
    isPublic,
    changes,
    body,
    keptAs,
    run: async (request) => {
      const { headers, principal, body, options } = request
      const key = headers[idempotencyHeader]
      const whose = { principal: principal?.name, signal: options.signal }
      const keyed =
        changes && !isPublic && key !== undefined
          ? await keyedChange({ key, operation: `iceberg.${name}`, asked: { id, query, body } }, whose)
          : undefined
      const asked = { ...variables, id, query: new URLSearchParams(query), request: { ...request, keyed } }
      const made = await toItsEnd(served.catalog, asked.request, () => endpoint.run(served, asked))
      return answerTo(method, made, options)
    },
  }
}

function hasMetadata(body: unknown): body is { readonly metadata: object } {
  return typeof body === 'object' && body !== null && 'metadata' in body
}

const json = 'application/json'

async function answerTo(
  method: string,
  { body, status, headers }: EndpointAnswer,
  options: OperationOptions,
): ReturnType<MountedRoute['run']> {
  if (body === undefined || method === 'HEAD')
    return { status: status ?? 204, body: '', ...(headers && { headers }) }
  const answer = { status: status ?? 200, type: json, ...(headers && { headers }) }
  if (!hasMetadata(body)) return { ...answer, body: stringify(body) }
  const { metadata, ...rest } = body
  const text = await textOf(metadata, options)
  const before = `${stringify(rest).slice(0, -1)}${Object.keys(rest).length > 0 ? ',' : ''}"metadata":`
  if (typeof text === 'string') return { ...answer, body: `${before}${text}}` }
  const parts = [Buffer.from(before), ...text, Buffer.from('}')]
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return {
    ...answer,
    headers: { ...headers, 'content-length': String(length) },
    // No part is handed over before the client has read those before it.
    body: Readable.from(parts, { objectMode: false, highWaterMark: 1 }),
  }
}

/** The answer that makes no client take a change for one that was not made, nor send it again by itself. */
function stateUnknown(message: string) {
  return problem(errorStatuses.CommitStateUnknownException, 'CommitStateUnknownException', message)
}

function problem(status: number, type: IcebergErrorType, message: string) {
  return { status, type: json, body: JSON.stringify({ error: { message, type, code: status } }) }
}
