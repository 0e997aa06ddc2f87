import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import { signAgain } from './sign-again.ts'

/** A request on its way to a service. */
export interface Passing {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
}

/** What happens to a request. Nothing, unless a fault is given. */
export type Fault =
  /** The service never gets it, and the connection ends. */
  | { readonly kind: 'drop' }
  /** The service gets it, and the answer is lost. */
  | { readonly kind: 'lose' }
  /** It is answered without the service. */
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly body?: string
      readonly headers?: Record<string, string>
    }
  /** The answer ends in the middle of its body. */
  | { readonly kind: 'cut' }
  /** A byte of the answer is another one. */
  | { readonly kind: 'damage' }
  /** The text of the answer is another one. */
  | { readonly kind: 'rewrite'; readonly with: (text: string) => string }

export interface FaultyProxy {
  readonly url: string
  /** Asked for each request. It may also change the query and the headers, or wait. */
  decide: (passing: Passing) => Fault | undefined | Promise<Fault | undefined>
  /** What passed, as `METHOD path?names of parameters`. */
  readonly seen: string[]
  close(): Promise<void>
}

/** A proxy before a service, which does what networks and services do now and then. */
export async function faultyProxy(target: string): Promise<FaultyProxy> {
  const server = createServer((incoming, outgoing) => {
    pass(proxy, target, incoming, outgoing).catch(() => outgoing.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${port}`,
    decide: () => undefined,
    seen: [],
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}

async function pass(
  proxy: FaultyProxy,
  target: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const body = await bytesOf(incoming)
  const url = new URL(incoming.url!, target)
  const passing: Passing = {
    method: incoming.method!,
    path: decodeURIComponent(url.pathname),
    query: url.searchParams,
    headers: { ...incoming.headers },
  }
  const names = [...url.searchParams.keys()].filter((name) => name !== 'x-id').sort()
  proxy.seen.push(`${passing.method} ${passing.path}${names.length > 0 ? `?${names.join('&')}` : ''}`)
  const signed = signedPartOf(passing)
  const fault = await proxy.decide(passing)
  if (fault?.kind === 'drop') {
    outgoing.destroy()
    return
  }
  if (fault?.kind === 'answer') {
    outgoing.writeHead(fault.status, { 'content-type': 'application/xml', ...fault.headers })
    outgoing.end(passing.method === 'HEAD' ? undefined : (fault.body ?? ''))
    return
  }
  const sent = new URL(`${url.pathname}?${url.searchParams}`, target)
  if (signedPartOf(passing) !== signed) signAgain(passing.method, sent, passing.headers)
  const answer = await send(sent, passing, body)
  let bytes = await bytesOf(answer)
  if (fault?.kind === 'lose') {
    outgoing.destroy()
    return
  }
  if (fault?.kind === 'damage' && bytes.length > 0) bytes[bytes.length >> 1]! ^= 1
  if (fault?.kind === 'rewrite') bytes = Buffer.from(fault.with(bytes.toString()))
  const { 'transfer-encoding': _, connection: __, ...headers } = answer.headers
  const length = passing.method === 'HEAD' ? headers['content-length'] : String(bytes.length)
  outgoing.writeHead(answer.statusCode!, {
    ...headers,
    ...(length !== undefined && { 'content-length': length }),
  })
  if (fault?.kind !== 'cut' || passing.method === 'HEAD') outgoing.end(bytes)
  else outgoing.write(bytes.subarray(0, bytes.length >> 1), () => outgoing.destroy())
}

/** What a signature is about, and what {@link FaultyProxy.decide} may change. */
const signedPartOf = ({ query, headers }: Passing) => JSON.stringify([`${query}`, headers])

async function send(url: URL, { method, headers }: Passing, body: Buffer): Promise<IncomingMessage> {
  const sent = request(url, { method, headers: { ...headers, connection: 'close' } })
  // A service that answers before it has read all may end the connection then.
  const answering = once(sent, 'response')
  sent.on('error', () => {}).end(body)
  const [answer] = (await answering) as [IncomingMessage]
  return answer
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of message) parts.push(part as Buffer)
  return Buffer.concat(parts)
}
