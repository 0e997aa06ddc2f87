import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request as ask } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

export interface TlsOptions {
  /** The certificate that is believed, in PEM. */
  readonly ca: string
  /** The address that requests come from. */
  readonly from?: string
  /** Whether connections serve several requests. Default: true. */
  readonly keepAlive?: boolean
  /** Whether bodies are sent while they are made, without their length. Default: false. */
  readonly chunked?: boolean
}

/** A `fetch` that believes one certificate, which that of Node 20 cannot be told while it runs. */
export function tlsFetch({ ca, from, keepAlive = true, chunked = false }: TlsOptions) {
  const agent = new Agent({ ca, keepAlive, ...(from !== undefined && { localAddress: from }) })
  return async (input: Request | string, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const { method, signal, url } = request
    const sent = ask(url, { agent, method, headers: Object.fromEntries(request.headers), signal })
    const answered = once(sent, 'response')
    if (chunked && request.body !== null)
      // A broken request rejects `answered`.
      pipeline(Readable.from(request.body as unknown as AsyncIterable<Uint8Array>), sent).catch(() => {})
    else sent.end(Buffer.from(await request.arrayBuffer()))
    const [answer] = (await answered) as [IncomingMessage]
    const headers = new Headers()
    for (let i = 0; i < answer.rawHeaders.length; i += 2)
      headers.append(answer.rawHeaders[i]!, answer.rawHeaders[i + 1]!)
    const isEmpty = method === 'HEAD' || answer.statusCode === 204 || answer.statusCode === 304
    if (isEmpty) answer.resume()
    const body = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>)
    return new Response(body, { status: answer.statusCode!, headers })
  }
}
