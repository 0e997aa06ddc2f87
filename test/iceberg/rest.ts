import { parse, stringify } from '../../src/iceberg/json.ts'
import { type FakeServerOptions, fakeServer } from '../../src/testing/index.ts'

/** An answer of Iceberg REST. */
export interface IcebergAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: a body of any endpoint
  readonly body: any
  readonly headers: Headers
}

/** Sends requests to an Iceberg REST server. Paths begin behind `/v1/`. */
export class IcebergRequests {
  readonly #url: string
  readonly #timeout: number | undefined

  /** Gives up on an answer that takes more than `timeout` milliseconds. */
  constructor(url: string, timeout?: number) {
    this.#url = url
    this.#timeout = timeout
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<IcebergAnswer> {
    const response = await fetch(`${this.#url}/v1/${path}`, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: stringify(body) }),
      ...(this.#timeout !== undefined && { signal: AbortSignal.timeout(this.#timeout) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : parse(text), headers: response.headers }
  }

  get(path: string, headers?: Record<string, string>) {
    return this.send('GET', path, undefined, headers)
  }

  post(path: string, body: unknown, headers?: Record<string, string>) {
    return this.send('POST', path, body, headers)
  }
}

/** A fake that serves Iceberg REST, with one namespace `prod`. */
export async function servedFake(options: FakeServerOptions = {}) {
  const server = await fakeServer({
    ...(options.catalog === undefined && { seed: { prod: {} } }),
    iceberg: true,
    ...options,
  })
  return Object.assign(server, { rest: new IcebergRequests(`${server.url}/iceberg`) })
}

/** The schema of a table with one column. */
export const schema = {
  type: 'struct',
  'schema-id': 0,
  fields: [{ id: 1, name: 'x', required: false, type: 'long' }],
} as const

/** The updates that add a snapshot to the main branch. */
export function snapshotUpdates(
  id: number | bigint,
  {
    parent,
    sequence = 1,
    summary = {},
  }: { parent?: number | bigint; sequence?: number; summary?: object } = {},
) {
  const snapshot = {
    'snapshot-id': id,
    ...(parent !== undefined && { 'parent-snapshot-id': parent }),
    'sequence-number': sequence,
    'timestamp-ms': Date.now(),
    'manifest-list': `file:///nowhere/snap-${id}.avro`,
    summary: { operation: 'append', ...summary },
    'schema-id': 0,
  }
  return [
    { action: 'add-snapshot', snapshot },
    { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': id },
  ]
}
