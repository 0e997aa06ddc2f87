import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { turns } from './turns.ts'

/** A client that sends nothing for this many milliseconds, and some turns, waits for a response. */
const quietMillis = 5

/** A TCP proxy that counts round trips, delays data and cuts connections. */
export class TcpProxy {
  /** The number of round trips: how often clients sent something after a response. */
  trips = 0
  /** Called with the bytes of a client. A returned number cuts the connection after that many of them. */
  onSent: ((bytes: Buffer) => number | undefined) | undefined
  /** The same for the bytes of the server. */
  onAnswered: ((bytes: Buffer) => number | undefined) | undefined
  /** Delays the bytes of the server until the promise resolves. Bytes stay in order. */
  beforeAnswer: ((bytes: Buffer) => Promise<void> | undefined) | undefined
  /** The same for the bytes of a client. */
  beforeSent: ((bytes: Buffer) => Promise<void> | undefined) | undefined
  /** Delays responses until the client is idle, so that pipelined messages count as one round trip. */
  readonly #counts: boolean
  readonly #server: Server
  /** The target port for new connections. */
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
      // Bytes after the cut must not pass while the connection closes: TCP never skips bytes.
      if (isCut.has(to)) return
      if (cutAt === undefined) return void to.write(bytes)
      isCut.add(to)
      to.write(bytes.subarray(0, cutAt), () => end())
    }
    /** Forwards bytes in order, each after its delay. */
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
        // Turns as well as time: a busy machine may have blocked a client in this process all the while.
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
