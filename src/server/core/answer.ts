import { Readable } from 'node:stream'
import { mapInSlices } from '../../base/scheduling/time-slice.ts'
import {
  arrowFileType,
  headersOfContext,
  jsonType,
  type Route,
  transactionHeader,
} from '../../protocol/wire.ts'
import type { Fields } from '../dialects/dialect.ts'

/** A response before it is written. */
export interface Answer<Body = string | Buffer> {
  readonly status: number
  /** Its content type; absent when there is no body. */
  readonly type?: string
  readonly body: Body
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** An answer whose body may be a stream. */
export type StreamableAnswer = Answer<string | Buffer | Readable>

/** Whether a status goes with the length of its body. With 304 it would be that of a body that is not sent; 204 has none. */
export const tellsLength = (status: number): boolean => status !== 304 && status !== 204

export const jsonUtf8 = `${jsonType}; charset=utf-8`

/**
 * The HTTP answer of an operation's response: a bare value for routes that have one, and the context as headers.
 * `rewritten` is the response in the client's dialect.
 */
export function answerOf(
  route: Route,
  response: Fields,
  rewritten: unknown,
): StreamableAnswer | Promise<StreamableAnswer> {
  const headers = headersOf(route, response)
  switch (route.answer) {
    case 'json': {
      const answer = (body: string | Buffer) => ({ status: 200, type: jsonUtf8, body, headers })
      const body = jsonOf(rewritten as Fields)
      return body instanceof Promise ? body.then(answer) : answer(body)
    }
    case 'count':
      return { status: 200, type: jsonUtf8, body: String(response.count), headers }
    case 'plan':
    case 'analysis':
      return { status: 200, type: jsonUtf8, body: JSON.stringify(response[route.answer]), headers }
    case 'metadata':
      return { status: 200, type: jsonUtf8, body: JSON.stringify(response.metadata), headers }
    case 'arrow': {
      const data = response.data as Uint8Array | AsyncIterable<Uint8Array>
      const body =
        data instanceof Uint8Array
          ? Buffer.from(data.buffer, data.byteOffset, data.byteLength)
          : // Backpressure: no chunk is produced before the client reads it.
            Readable.from(data, { objectMode: false, highWaterMark: 1 })
      return { status: 200, type: arrowFileType, body, headers }
    }
  }
}

function headersOf({ answer }: Route, { context, transaction_id }: Fields): Answer['headers'] {
  const bare = answer === 'metadata' && typeof transaction_id === 'string'
  if (context === undefined && !bare) return undefined
  const headers = headersOfContext(context as Record<string, string> | undefined)
  if (bare) headers[transactionHeader] = transaction_id
  return headers
}

/** Longer lists of objects are serialized in time slices. */
const maxAtOnce = 500

function jsonOf(value: Fields): string | Promise<Buffer> {
  for (const name in value) {
    const list = value[name]
    if (Array.isArray(list) && list.length > maxAtOnce && typeof list[0] === 'object')
      return jsonInSlices(value, name, list)
  }
  return JSON.stringify(value)
}

async function jsonInSlices(value: Fields, name: string, list: readonly unknown[]): Promise<Buffer> {
  const written = await mapInSlices(list, (item, i) =>
    Buffer.from((i === 0 ? '[' : ',') + JSON.stringify(item)),
  )
  const parts: Buffer[] = []
  for (const member in value) {
    if (value[member] === undefined) continue
    parts.push(Buffer.from(`${parts.length === 0 ? '{' : ','}${JSON.stringify(member)}:`))
    if (member === name) parts.push(...written, Buffer.from(']'))
    else parts.push(Buffer.from(JSON.stringify(value[member])))
  }
  return Buffer.concat([...parts, Buffer.from('}')])
}
