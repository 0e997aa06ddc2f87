import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** A minimal connection pooler in transaction mode: few connections serve many clients. */
export class SmallPooler {
  /** Whether to disconnect a client that begins a transaction, as in statement mode. */
  refusesTransactions = false
  /** Drops the server connection instead of the next response, and reports that like PgBouncer. */
  losesNextAnswer = false
  readonly #server: Server
  readonly #target: number
  readonly #free: Link[] = []
  readonly #queue: Guest[] = []
  readonly #sockets = new Set<Socket>()
  #links = 0
  readonly #mostLinks: number

  private constructor(target: number, mostLinks: number) {
    this.#target = target
    this.#mostLinks = mostLinks
    this.#server = createServer((socket) => {
      this.#keep(socket)
      this.#greet(socket)
    })
  }

  static async start(target: number, mostLinks: number): Promise<SmallPooler> {
    const pooler = new SmallPooler(target, mostLinks)
    pooler.#server.listen(0, '127.0.0.1')
    await once(pooler.#server, 'listening')
    return pooler
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  /** The pooler itself completes the login, with a process id that does not exist. */
  #greet(socket: Socket): void {
    let isGreeted = false
    const guest: Guest = { socket, sent: [], link: undefined, asked: 0 }
    messagesOf(socket, true, (message) => {
      if (!isGreeted) {
        isGreeted = true
        const hello = [typed('R', int(0)), typed('K', Buffer.concat([int(999_999_999), int(1)]))]
        socket.write(Buffer.concat([...hello, typed('Z', Buffer.from('I'))]))
        return
      }
      // A query, or a sync: the response ends with ReadyForQuery.
      if (message[0] === code('Q') || message[0] === code('S')) guest.asked++
      if (guest.link) guest.link.socket.write(message)
      else if (message[0] !== code('X') && guest.sent.push(message) === 1) this.#queue.push(guest)
      void this.#serve()
    })
    socket.on('close', () => {
      guest.link?.socket.destroy()
      const at = this.#queue.indexOf(guest)
      if (at >= 0) this.#queue.splice(at, 1)
    })
  }

  async #serve(): Promise<void> {
    if (this.#queue.length > 0 && this.#free.length === 0 && this.#links < this.#mostLinks) {
      this.#links++
      this.#free.push(await this.#link())
    }
    while (this.#queue.length > 0 && this.#free.length > 0) {
      const guest = this.#queue.shift()!
      const link = this.#free.shift()!
      guest.link = link
      link.guest = guest
      for (const message of guest.sent.splice(0)) link.socket.write(message)
    }
  }

  async #link(): Promise<Link> {
    const socket = connect(this.#target, '127.0.0.1')
    this.#keep(socket)
    await once(socket, 'connect')
    const link: Link = { socket, guest: undefined }
    const text = Buffer.from('user\0postgres\0database\0postgres\0client_encoding\0UTF8\0\0')
    socket.write(Buffer.concat([int(8 + text.length), int(196_608), text]))
    await new Promise<void>((resolve) => {
      messagesOf(socket, false, (message) => {
        if (link.guest === undefined) {
          if (message[0] === code('Z')) resolve()
          return
        }
        this.#answer(link, link.guest, message)
      })
    })
    socket.on('close', () => {
      this.#links--
      const at = this.#free.indexOf(link)
      if (at >= 0) this.#free.splice(at, 1)
      if (link.guest) link.guest.link = undefined
      link.guest?.socket.destroy()
      void this.#serve()
    })
    return link
  }

  #answer(link: Link, guest: Guest, message: Buffer): void {
    if (this.losesNextAnswer) {
      this.losesNextAnswer = false
      // The pooler has forwarded the pipelined messages, so the server executes them.
      setTimeout(() => refuse(guest.socket, 'server conn crashed?'), 200)
      link.guest = undefined
      guest.link = undefined
      setTimeout(() => link.socket.destroy(), 200)
      return
    }
    const isReady = message[0] === code('Z')
    const isIdle = isReady && message[5] === code('I')
    if (isReady && !isIdle && this.refusesTransactions) {
      refuse(guest.socket, 'transaction blocks not allowed in statement pooling mode')
      return
    }
    guest.socket.write(message)
    if (isReady) guest.asked--
    if (!isIdle || guest.asked > 0) return
    guest.link = undefined
    link.guest = undefined
    this.#free.push(link)
    void this.#serve()
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
  }
}

interface Link {
  readonly socket: Socket
  guest: Guest | undefined
}

interface Guest {
  readonly socket: Socket
  /** The messages that wait for a connection. */
  readonly sent: Buffer[]
  link: Link | undefined
  /** The number of pending responses. */
  asked: number
}

/** Calls back for each complete message of PostgreSQL's protocol. The first one of a client has no type byte. */
function messagesOf(socket: Socket, isClient: boolean, call: (message: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  let letter = isClient ? 0 : 1
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= letter + 4) {
      const length = letter + rest.readInt32BE(letter)
      if (rest.length < length) return
      const message = rest.subarray(0, length)
      rest = rest.subarray(length)
      letter = 1
      call(message)
    }
  })
}

/** PgBouncer reports nearly every error with the code 08P01, and closes the connection. */
function refuse(socket: Socket, text: string): void {
  socket.end(typed('E', Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${text}\0\0`)))
}

function typed(letter: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(letter), int(4 + body.length), body])
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function code(letter: string): number {
  return letter.charCodeAt(0)
}
