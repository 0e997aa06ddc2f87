import type { QueryArrayConfig } from 'pg'
import { clearTimeout, setTimeout } from '../../base/time.ts'
import type { Address } from './address.ts'
import { connect, type DriverClient } from './driver.ts'
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
