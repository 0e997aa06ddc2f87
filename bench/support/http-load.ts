import { connect, type Socket } from 'node:net'

/** What a load did: requests per second, and how long they took in milliseconds. */
export interface Load {
  readonly requests: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
}

/**
 * Sends one request over and over, or the next one each time, on so many connections, each waiting for its answer, for
 * so long. Plain sockets: the load must cost less than what is measured. Anything but a 200 fails.
 */
export async function load(
  url: string,
  request: Buffer | (() => Buffer),
  connections: number,
  millis: number,
): Promise<Load> {
  const next = typeof request === 'function' ? request : () => request
  const { hostname, port } = new URL(url)
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(hostname, Number(port))))
  const took: number[] = []
  const start = performance.now()
  await Promise.all(sockets.map((socket) => drive(socket, next, start + millis, took)))
  const seconds = (performance.now() - start) / 1_000
  const requests = took.length
  for (const socket of sockets) socket.destroy()
  took.sort((a, b) => a - b)
  const at = (part: number) => took[Math.min(took.length - 1, Math.floor(took.length * part))]!
  return { requests, perSecond: requests / seconds, p50: at(0.5), p99: at(0.99) }
}

/** The bytes of a request. */
export function requestBytes(
  method: string,
  path: string,
  headers: Record<string, string>,
  body = '',
): Buffer {
  const lines = Object.entries({ host: 'localhost', 'content-length': String(body.length), ...headers })
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  )
}

function open(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true }, () => resolve(socket)).once('error', reject)
  })
}

function drive(socket: Socket, next: () => Buffer, until: number, took: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let sent = performance.now()
    let missing = -1
    socket.on('error', reject)
    socket.on('data', (chunk: Buffer) => {
      if (missing < 0) missing = bytesOf(chunk)
      missing -= chunk.length
      if (missing > 0) return
      const now = performance.now()
      took.push(now - sent)
      missing = -1
      if (now > until) return resolve()
      sent = now
      socket.write(next())
    })
    socket.write(next())
  })
}

/** The length of a whole response, from its first chunk, which holds all of its head. */
function bytesOf(chunk: Buffer): number {
  const head = chunk.toString('latin1', 0, Math.min(chunk.length, 2_048))
  const end = head.indexOf('\r\n\r\n')
  const length = /content-length: (\d+)/i.exec(head)
  if (!head.startsWith('HTTP/1.1 200') || end < 0 || length === null) throw new Error(head)
  return end + 4 + Number(length[1])
}
