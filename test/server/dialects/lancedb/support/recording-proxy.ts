import { createServer, type IncomingHttpHeaders, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as it went over the wire, and what it was answered. */
export interface Seen {
  readonly method: string
  /** As it was sent, query string and all. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly status: number
  readonly answer: Buffer
}

/** Stands between a client and a server, and keeps what passes. */
export interface RecordingProxy extends AsyncDisposable {
  readonly url: string
  /** What passed since the last call, oldest first. */
  take(): Seen[]
}

/** A proxy before the server at `target`, whose requests and answers it hands on byte by byte. */
export async function recordingProxy(target: string): Promise<RecordingProxy> {
  let seen: Seen[] = []
  const server = createServer((incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    const body: Buffer[] = []
    const onward = send(new URL(target), { method, path: url, headers }, (answered) => {
      const answer: Buffer[] = []
      outgoing.writeHead(answered.statusCode!, answered.rawHeaders)
      answered.on('data', (chunk: Buffer) => {
        answer.push(chunk)
      })
      answered.on('end', () => {
        const status = answered.statusCode!
        seen.push({ method, url, headers, body: Buffer.concat(body), status, answer: Buffer.concat(answer) })
        outgoing.end()
      })
      answered.pipe(outgoing, { end: false })
    })
    onward.on('error', () => outgoing.destroy())
    incoming.on('data', (chunk: Buffer) => {
      body.push(chunk)
    })
    incoming.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take: () => {
      const taken = seen
      seen = []
      return taken
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A request and its answer in one line, for messages. */
export function describeSeen({ method, url, status, body, answer }: Seen): string {
  return `${method} ${url} ${printable(body)} → ${status} ${printable(answer)}`
}

function printable(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return /^[\x20-\x7e]*$/.test(text) ? text.slice(0, 500) : `<${bytes.length} bytes>`
}
