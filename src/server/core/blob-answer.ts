import { Readable } from 'node:stream'
import { unsupported } from '../../base/errors.ts'
import type { BlobOfVersion } from '../../catalog/index.ts'
import { bytesType } from '../../protocol/wire.ts'
import type { StreamableAnswer } from './answer.ts'
import type { Exchange } from './exchange.ts'

/**
 * The answer with the bytes of one blob, or with those of the range that is asked for. A blob that is null has none. Ranges
 * that count from the end, and several at once, are answered by the whole blob, as HTTP allows.
 */
export function blobAnswer(
  found: BlobOfVersion | undefined,
  { headers: given, method, dialect }: Exchange,
): StreamableAnswer {
  if (found === undefined) {
    throw unsupported(
      'This server passes requests on to another one, and reads no blobs in parts.',
      'Fetch the whole blobs, or ask the other server.',
    )
  }
  const { size, version } = found
  const headers = {
    'accept-ranges': 'bytes',
    ...(dialect?.blobVersion && { [dialect.blobVersion]: String(version) }),
  }
  if (size === null) return { status: 204, body: '', headers }
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(given.range ?? '') ?? []
  const from = Number(first ?? 0)
  const to = last ? Math.min(size, Number(last) + 1) : size
  const isRange = first !== undefined && !(last && Number(last) < from)
  if (isRange && from >= size)
    return { status: 416, body: '', headers: { ...headers, 'content-range': `bytes */${size}` } }
  const [start, end] = isRange ? [from, to] : [0, size]
  return {
    status: isRange ? 206 : 200,
    type: bytesType,
    // Backpressure: no part is read before the client wants it.
    body:
      method === 'HEAD' || start === end
        ? ''
        : Readable.from(found.read(start, end), { objectMode: false, highWaterMark: 1 }),
    headers: {
      ...headers,
      ...(isRange && { 'content-range': `bytes ${start}-${end - 1}/${size}` }),
    },
  }
}
