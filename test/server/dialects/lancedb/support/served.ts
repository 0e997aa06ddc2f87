import './quiet.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Connection, connect, connectNamespace } from '@lancedb/lancedb'
import { expect } from 'vitest'
import { type HttpOptions, serve } from '../../../../../src/server/index.ts'
import { type CatalogOptions, type LocalCatalog, openCatalog } from '../../../../../src/tabularium/index.ts'
import { describeSeen, type RecordingProxy, recordingProxy, type Seen } from './recording-proxy.ts'

const token = 'a-token-for-tests'

export type Kind = 'memory' | 'lmdb'

/** A catalog served on a free port, and what its clients send. */
export interface Served extends AsyncDisposable {
  readonly catalog: LocalCatalog
  readonly proxy: RecordingProxy
  /** Where the server itself is, without the proxy. */
  readonly url: string
  readonly token: string
  /** The folder of a catalog on disk. */
  readonly folder: string
  /** LanceDB's remote client. */
  remote(options?: { apiKey?: string; idDelimiter?: string; path?: string }): Promise<Connection>
  /** LanceDB's namespace client. */
  namespace(apiKey?: string): Promise<Connection>
}

export async function served(
  kind: Kind,
  { listing, ...options }: CatalogOptions & Pick<HttpOptions, 'listing'> = {},
): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-lancedb-'))
  const catalog = await openCatalog(kind === 'memory' ? 'memory:' : folder, options)
  const server = await serve(catalog, {
    limits: { eventLoopDelay: 0 },
    auth: { tokens: [token] },
    listing,
    port: 0,
  })
  const proxy = await recordingProxy(server.url)
  return {
    catalog,
    proxy,
    url: server.url,
    token,
    folder,
    remote: ({ apiKey = token, idDelimiter, path = '' } = {}) =>
      connect('db://shop', {
        apiKey,
        hostOverride: proxy.url + path,
        ...(idDelimiter === undefined ? {} : { clientConfig: { idDelimiter } }),
      }),
    namespace: (apiKey = token) =>
      connectNamespace('rest', { uri: proxy.url, 'header.authorization': `Bearer ${apiKey}` }),
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]()
      await server.close()
      await catalog.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** What passed while `work` ran. */
export async function requestsOf(proxy: RecordingProxy, work: () => Promise<unknown>): Promise<Seen[]> {
  proxy.take()
  await work()
  return proxy.take()
}

/** Checks that a client's call fails with its error, and asks for nothing twice: what cannot succeed is not retried. */
export async function failsAtOnce(
  proxy: RecordingProxy,
  work: () => Promise<unknown>,
  ...parts: (string | RegExp)[]
): Promise<void> {
  proxy.take()
  const error: unknown = await work().then(
    (value) => expect.fail(`it succeeded, with ${String(value)}`),
    (thrown) => thrown,
  )
  const seen = proxy.take()
  expect(error).toBeInstanceOf(Error)
  for (const part of parts) expect((error as Error).message).toMatch(part)
  expect(seen.length).toBeGreaterThan(0)
  expect(new Set(seen.map(({ url }) => url)).size, seen.map(describeSeen).join('\n')).toBe(seen.length)
}
