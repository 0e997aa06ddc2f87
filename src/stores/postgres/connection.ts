import type { Duplex } from 'node:stream'
import type { Client, ClientConfig, QueryArrayConfig } from 'pg'
import { CatalogError, unsupported } from '../../base/errors.ts'
import { clearTimeout, setTimeout } from '../../base/time.ts'
import type { Address } from './address.ts'
import type { Row, Statement } from './statements.ts'

/** How long the end of a connection waits for a silent server, in milliseconds. */
const goodbyeMillis = 3_000

interface Answer {
  readonly rows: readonly Row[]
}

/** One connection to the database. Statements are pipelined: sent at once, and answered one after the other. */
export class Connection {
  /** The number of outstanding answers. */
  waiting = 0
  isLost = false
  readonly #client: DriverClient
  readonly #onChange: (connection: Connection) => void

  private constructor(client: DriverClient, onChange: (connection: Connection) => void) {
    this.#client = client
    this.#onChange = onChange
    const lose = () => {
      if (this.isLost) return
      this.isLost = true
      onChange(this)
    }
    // The outstanding statements fail with this error, too.
    client.on('error', lose)
    client.on('end', lose)
  }

  /** Opens a connection. `onChange` is called when it is lost, and when it becomes idle. */
  static async open(address: Address, onChange: (connection: Connection) => void): Promise<Connection> {
    const client = await connect(address)
    const connection = new Connection(client, onChange)
    client.unref()
    return connection
  }

  /** The process id that the server, or a pooler, sent when the connection was made. */
  get process(): number | null {
    return this.#client.processID
  }

  /** Sends a statement, or several in one text. Resolves to the rows of the last one. */
  async send({ text, values }: Statement): Promise<readonly Row[]> {
    if (this.waiting++ === 0) this.#client.ref()
    const query: QueryArrayConfig = { text, rowMode: 'array', ...(values && { values: values as unknown[] }) }
    try {
      const answer = (await this.#client.query(query)) as unknown as Answer | readonly Answer[]
      return (Array.isArray(answer) ? answer.at(-1)! : answer).rows
    } finally {
      if (--this.waiting === 0) this.#rest()
    }
  }

  /** Sends the end of a transaction. Resolves to whether it was committed. */
  async sendEnd({ text }: Statement): Promise<boolean> {
    if (this.waiting++ === 0) this.#client.ref()
    try {
      const { command } = await this.#client.query(text)
      return command === 'COMMIT'
    } finally {
      if (--this.waiting === 0) this.#rest()
    }
  }

  /** Resolves when the connection has ended. A server that is paused or out of reach is not waited for. */
  async close(): Promise<void> {
    this.isLost = true
    // Keep the process alive until the connection has ended.
    this.#client.ref()
    const late = setTimeout(() => this.drop(), goodbyeMillis)
    await this.#client.end().catch(() => {})
    clearTimeout(late)
  }

  /** Destroys the connection. Its outstanding statements fail. */
  drop(): void {
    this.isLost = true
    this.#client.connection.stream.destroy()
  }

  /** An idle connection does not keep the process alive. */
  #rest(): void {
    if (this.isLost) return
    this.#client.unref()
    this.#onChange(this)
  }
}

/** Loads the driver, when the first catalog in a database is opened. */
async function loadDriver(): Promise<typeof Client> {
  try {
    const { default: pg } = await import('pg')
    return pg.Client
  } catch (cause) {
    throw unsupported(
      'A catalog in PostgreSQL needs the package pg, which cannot be loaded.',
      'Install it beside tabularium: npm install pg',
      { cause },
    )
  }
}

/** What the driver's types leave out. */
type DriverClient = Client & {
  ref(): void
  unref(): void
  readonly processID: number | null
  readonly connection: {
    readonly stream: { destroy(): void }
    attachListeners(stream: Duplex): void
    once(
      event: 'authenticationSASL',
      listener: (asked: { readonly mechanisms: readonly string[] }) => void,
    ): void
  }
}

/** Makes a connection to the server. */
export async function connect(address: Address): Promise<DriverClient> {
  const Driver = await loadDriver()
  let isBound = !address.channelBinding
  const requireBinding = () => {
    if (!isBound) throw unbound(address.label)
  }
  // With required channel binding, a server that asks for the password by another method gets none.
  const client = new Driver(configOf(address, requireBinding)) as DriverClient
  client.connection.once('authenticationSASL', ({ mechanisms }) => {
    isBound ||= mechanisms.includes('SCRAM-SHA-256-PLUS')
  })
  client.on('error', () => {})
  endOnProtocolError(client)
  try {
    await client.connect()
    requireBinding()
  } catch (error) {
    void client.end().catch(() => {})
    throw error
  }
  return client
}

function unbound(label: string): CatalogError {
  return new CatalogError(
    'PermissionDenied',
    `Cannot use ${label}: channel_binding is require, and the server does not offer it. It needs TLS and a password of the kind scram-sha-256 there.`,
  )
}

function configOf(address: Address, beforePassword: () => void): ClientConfig {
  const { target, port, user, database, ssl, applicationName, connectMillis, answerMillis } = address
  const { channelBinding, options } = address
  const own: ClientConfig & { pipeline: boolean; enableChannelBinding: boolean } = {
    host: target,
    port,
    user,
    database,
    // The driver passes its own settings, which are not needed.
    password: (async () => {
      beforePassword()
      return address.password()
    }) as unknown as () => string,
    ssl: ssl as ClientConfig['ssl'],
    application_name: applicationName,
    connectionTimeoutMillis: connectMillis,
    query_timeout: answerMillis,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    enableChannelBinding: channelBinding,
    // Statements are sent without waiting for earlier answers.
    pipeline: true,
    ...(options !== undefined && { options }),
  }
  return own
}

/**
 * Ends the connection after bytes that are no message of the protocol. The driver parses in a listener, where an error
 * would end the process.
 */
function endOnProtocolError({ connection }: DriverClient): void {
  const attach = connection.attachListeners.bind(connection)
  connection.attachListeners = (stream) => {
    const others = new Set(stream.listeners('data'))
    attach(stream)
    for (const listener of stream.listeners('data')) {
      if (others.has(listener)) continue
      stream.off('data', listener as () => void)
      stream.on('data', (bytes: Buffer) => {
        try {
          listener.call(stream, bytes)
        } catch (cause) {
          const message = 'The connection was ended: what came is no message of the protocol.'
          stream.destroy(Object.assign(new Error(message, { cause }), { code: 'ECONNRESET' }))
        }
      })
    }
  }
}
