import { Agent, request as send } from 'node:http'

/** One client of Iceberg REST, on as many connections as it has requests under way. */
export class IcebergClient {
  readonly #agent = new Agent({ keepAlive: true, noDelay: true })
  readonly #url: string

  /** `url` is where `/v1/config` begins. */
  constructor(url: string) {
    this.#url = url
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Sends a request and reads its answer. Paths begin behind `/v1/`. */
  ask(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly text: string }> {
    return new Promise((resolve, reject) => {
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
      const headers = bytes && { 'content-type': 'application/json', 'content-length': bytes.length }
      const sent = send(`${this.#url}/v1/${path}`, {
        agent: this.#agent,
        method,
        ...(headers && { headers }),
      })
      sent.on('error', reject).on('response', (response) => {
        const parts: Buffer[] = []
        response.on('error', reject).on('data', (part) => parts.push(part))
        response.on('end', () =>
          resolve({ status: response.statusCode!, text: Buffer.concat(parts).toString('utf8') }),
        )
      })
      sent.end(bytes)
    })
  }

  /** As {@link ask}. Fails on anything but a success. */
  async get(method: string, path: string, body?: object): Promise<string> {
    const { status, text } = await this.ask(method, path, body)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 500)}`)
    return text
  }
}

const schema = {
  type: 'struct',
  'schema-id': 0,
  fields: Array.from({ length: 12 }, (_, i) => ({
    id: i + 1,
    name: `column_${i}`,
    required: false,
    type: 'string',
  })),
}

export async function createTable(client: IcebergClient, namespace: string, name: string): Promise<void> {
  await client.get('POST', `namespaces/${namespace}/tables`, { name, schema })
}

/** Snapshot ids that a number of JavaScript holds. */
let lastId = Date.now()

interface State {
  readonly id: number | null
  readonly sequence: number
}

/** One writer of a table, who appends as clients do: again on the new state when another one was first. */
export class Committer {
  readonly #client: IcebergClient
  readonly #path: string
  /** The newest snapshot of main that it knows. */
  #known: State = { id: null, sequence: 0 }

  constructor(client: IcebergClient, namespace: string, table: string) {
    this.#client = client
    this.#path = `namespaces/${namespace}/tables/${table}`
  }

  async append(): Promise<void> {
    for (;;) {
      const next = { id: ++lastId, sequence: this.#known.sequence + 1 }
      const { status, text } = await this.#client.ask('POST', this.#path, updatesOf(this.#known, next))
      if (status === 200) {
        this.#known = next
        return
      }
      if (status !== 409) throw new Error(`${status} ${text.slice(0, 500)}`)
      this.#known = stateIn(await this.#client.get('GET', this.#path))
    }
  }
}

function stateIn(text: string): State {
  const { metadata } = JSON.parse(text)
  return { id: metadata['current-snapshot-id'], sequence: metadata['last-sequence-number'] }
}

function updatesOf(before: State, next: { readonly id: number; readonly sequence: number }): object {
  const snapshot = {
    'snapshot-id': next.id,
    ...(before.id !== null && { 'parent-snapshot-id': before.id }),
    'sequence-number': next.sequence,
    'timestamp-ms': Date.now(),
    'manifest-list': `file:///nowhere/snap-${next.id}.avro`,
    summary: { operation: 'append', 'added-data-files': '1', 'added-records': '100', 'total-records': '100' },
    'schema-id': 0,
  }
  return {
    requirements: [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': before.id }],
    updates: [
      { action: 'add-snapshot', snapshot },
      { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': next.id },
    ],
  }
}
