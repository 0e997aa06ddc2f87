import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/*
 * The few requests of S3 that the content sends, answered from memory: a service that is never what a reader waits for. It
 * checks no signatures. On request it tells which parts of objects were read or how many requests came, or sends as fast as a line of a given
 * width and no faster.
 */

/** What a process that started the service may ask. */
export type Asked = 'reads' | 'requests' | { readonly bytesPerSecond: number }

const objects = new Map<string, Buffer>()
const metadata = new Map<string, Record<string, string>>()
const uploads = new Map<string, Map<number, Buffer>>()
/** Requests of all kinds since somebody asked how many. */
let requests = 0
let reads: { path: string; start: number; end: number }[] = []

let bytesPerSecond = Number.MAX_VALUE
/** When the line is free again. All answers share it. */
let free = 0

const server = createServer((incoming, outgoing) => {
  requests++
  answer(incoming, outgoing).catch((error) => outgoing.writeHead(500).end(String(error)))
}).listen(0, '127.0.0.1')
await once(server, 'listening')
process.on('message', (asked: Asked) => {
  if (asked === 'reads') {
    process.send!(reads)
    reads = []
  } else if (asked === 'requests') {
    process.send!(requests)
    requests = 0
  } else {
    bytesPerSecond = asked.bytesPerSecond
  }
})
process.on('disconnect', () => process.exit())
process.send!((server.address() as { port: number }).port)

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { pathname: path, searchParams: query } = new URL(incoming.url!, 'http://localhost')
  const { method, headers } = incoming
  if (method === 'GET' && query.has('list-type')) return list(path, query, outgoing)
  if (method === 'GET' || method === 'HEAD') return read(path, method, headers.range, outgoing)
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part as Buffer)
  const body = Buffer.concat(parts)
  const upload = query.get('uploadId')
  if (method === 'DELETE') {
    objects.delete(path)
    outgoing.writeHead(204).end()
  } else if (method === 'POST' && query.has('uploads')) {
    const id = String(uploads.size)
    uploads.set(id, new Map())
    metadata.set(`${path}?${id}`, attemptIn(headers))
    xml(outgoing, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`)
  } else if (method === 'PUT' && upload !== null) {
    uploads.get(upload)!.set(Number(query.get('partNumber')), body)
    outgoing.writeHead(200, { etag: '"x"' }).end()
  } else if (objects.has(path) && headers['if-none-match'] === '*') {
    xml(outgoing, '<Error><Code>PreconditionFailed</Code></Error>', 412)
  } else if (upload !== null) {
    const numbered = [...uploads.get(upload)!].sort(([a], [b]) => a - b)
    objects.set(path, Buffer.concat(numbered.map(([, bytes]) => bytes)))
    metadata.set(path, metadata.get(`${path}?${upload}`)!)
    xml(outgoing, '<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>')
  } else {
    objects.set(path, body)
    metadata.set(path, attemptIn(headers))
    outgoing.writeHead(200, { etag: '"x"' }).end()
  }
}

function attemptIn(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((header): header is [string, string] =>
      header[0].startsWith('x-amz-meta-'),
    ),
  )
}

async function read(
  path: string,
  method: string,
  range: string | undefined,
  outgoing: ServerResponse,
): Promise<void> {
  const bytes = objects.get(path)
  if (bytes === undefined) {
    xml(outgoing, '<Error><Code>NoSuchKey</Code></Error>', 404)
    return
  }
  const [, from = '0', to = String(bytes.length - 1)] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? []
  const start = Number(from)
  const end = Math.min(Number(to) + 1, bytes.length)
  if (method === 'GET') reads.push({ path, start, end })
  outgoing.writeHead(range === undefined ? 200 : 206, {
    'content-length': end - start,
    ...metadata.get(path),
    ...(range !== undefined && { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` }),
  })
  if (method === 'HEAD') outgoing.end()
  else await send(bytes.subarray(start, end), outgoing)
}

async function send(bytes: Buffer, outgoing: ServerResponse): Promise<void> {
  const piece = 65_536
  for (let at = 0; bytesPerSecond !== Number.MAX_VALUE && at < bytes.length; at += piece) {
    const now = performance.now()
    free = Math.max(free, now) + (piece / bytesPerSecond) * 1_000
    // Timers are no finer.
    if (free - now > 1) await sleep(free - now)
    if (!outgoing.write(bytes.subarray(at, at + piece))) await once(outgoing, 'drain')
  }
  outgoing.end(bytesPerSecond === Number.MAX_VALUE ? bytes : undefined)
}

function list(path: string, query: URLSearchParams, outgoing: ServerResponse): void {
  const begin = `${path.replace(/\/$/, '')}/`
  const found = [...objects].filter(([name]) => name.startsWith(begin + (query.get('prefix') ?? '')))
  const items = found.map(
    ([name, { length }]) =>
      `<Contents><Key>${name.slice(begin.length)}</Key><Size>${length}</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>`,
  )
  xml(outgoing, `<ListBucketResult><IsTruncated>false</IsTruncated>${items.join('')}</ListBucketResult>`)
}

function xml(outgoing: ServerResponse, text: string, status = 200): void {
  outgoing.writeHead(status, { 'content-type': 'application/xml' }).end(text)
}
