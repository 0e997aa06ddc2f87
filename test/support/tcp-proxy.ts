import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { turns } from './turns.ts'

/** After this long without a byte of the client, in milliseconds, and some turns, it waits for an answer. */
const quietMillis = 5

/** Stands between clients and a server, and counts or cuts what passes. */
export class TcpProxy {
  /** How often clients sent something after they had got an answer: round trips. */
  trips = 0
  /** Called for what a client sends. A number cuts the connection once so many of these bytes have passed. */
  onSent: ((bytes: Buffer) => number | undefined) | undefined
  /** Called for what the server answers; likewise. */
  onAnswered: ((bytes: Buffer) => number | undefined) | undefined
  /** Holds back what the server answers until it resolves. Bytes stay in order. */
  beforeAnswer: ((bytes: Buffer) => Promise<void> | undefined) | undefined
  /** Likewise for what a client sends. */
  beforeSent: ((bytes: Buffer) => Promise<void> | undefined) | undefined
  /** Holds answers back until the client is quiet, so that what is sent at once counts once. */
  readonly #counts: boolean
  readonly #server: Server
  /** The port to which further connections lead. */
  target: number
  readonly #sockets = new Set<Socket>()

  private constructor(target: number, counts: boolean) {
    this.target = target
    this.#counts = counts
    this.#server = createServer((client) => this.#join(client))
  }

  static async start(target: number, { counts = false } = {}): Promise<TcpProxy> {
    const proxy = new TcpProxy(target, counts)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  /** Cuts all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  close(): void {
    this.cut()
    this.#server.close()
  }

  #join(client: Socket): void {
    const server = connect(this.target, '127.0.0.1')
    const end = () => {
      client.destroy()
      server.destroy()
      this.#sockets.delete(client)
      this.#sockets.delete(server)
    }
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', end).on('close', end)
    }
    const isCut = new Set<Socket>()
    const pass = (bytes: Buffer, to: Socket, cutAt: number | undefined) => {
      // What follows a cut must not pass before the connection has ended: a network leaves nothing out.
      if (isCut.has(to)) return
      if (cutAt === undefined) return void to.write(bytes)
      isCut.add(to)
      to.write(bytes.subarray(0, cutAt), () => end())
    }
    /** Passes bytes in order, after what each of them waits for. */
    const inOrder = () => {
      let last: Promise<void> | undefined
      return (wait: Promise<void> | undefined, work: () => void) => {
        if (last === undefined && wait === undefined) return work()
        const own = Promise.all([last, wait]).then(work)
        last = own
        void own.finally(() => {
          if (last === own) last = undefined
        })
      }
    }
    const toServer = inOrder()
    const toClient = inOrder()
    let held: Buffer[] = []
    let sent = 0
    let isAnswered = true
    const flushWhenQuiet = async () => {
      for (let before: number | undefined; before !== sent; ) {
        before = sent
        await sleep(quietMillis)
        // A client of this process may have been kept from going on for that time, and for any other.
        await turns()
      }
      isAnswered = true
      client.write(Buffer.concat(held))
      held = []
    }
    client.on('data', (bytes) => {
      if (isAnswered) this.trips++
      isAnswered = false
      sent++
      toServer(this.beforeSent?.(bytes), () => pass(bytes, server, this.onSent?.(bytes)))
    })
    server.on('data', (bytes) => {
      if (!this.#counts)
        return toClient(this.beforeAnswer?.(bytes), () => pass(bytes, client, this.onAnswered?.(bytes)))
      held.push(bytes)
      if (held.length === 1) void flushWhenQuiet()
    })
  }
}
