import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { CRC32C } from '@google-cloud/storage'

/*
 * The few requests of Google Cloud Storage that the content sends, as the service's documentation has them. No server
 * that can be had from npm or PyPI keeps conditions of generations.
 */

interface Stored {
  readonly bytes: Buffer
  readonly metadata: Readonly<Record<string, string>>
  readonly updated: string
  readonly generation: number
}

/** Starts a stand-in with one empty bucket. */
export async function gcsStandIn(bucket: string): Promise<{ url: string; close(): void }> {
  const objects = new Map<string, Stored>()
  let generation = 0
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error) => outgoing.writeHead(500).end(String(error)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of incoming) parts.push(part as Buffer)
    const body = Buffer.concat(parts)
    const { pathname, searchParams } = new URL(incoming.url!, 'http://localhost')
    const [, upload, asked, encoded] =
      /^(\/upload)?\/(?:download\/)?(?:storage\/v1\/)?b\/([^/]+)\/o(?:\/(.*))?$/.exec(pathname) ?? []
    const say = (status: number, value?: object) => {
      outgoing.writeHead(status, { 'content-type': 'application/json' })
      outgoing.end(value && JSON.stringify(value))
    }
    const fail = (code: number, message: string) =>
      say(code, { error: { code, message, errors: [{ message }] } })
    if (asked !== bucket) return fail(404, 'The specified bucket does not exist.')
    if (upload) {
      const name = searchParams.get('name')!
      if (searchParams.get('ifGenerationMatch') === '0' && objects.has(name)) {
        return fail(412, 'At least one of the pre-conditions you specified did not hold.')
      }
      const { metadata, bytes } = partsOf(
        body,
        /boundary="?([^";]+)/.exec(incoming.headers['content-type']!)![1]!,
      )
      objects.set(name, { bytes, metadata, updated: new Date().toISOString(), generation: ++generation })
      return say(200, resource(name))
    }
    if (encoded === undefined) return say(200, listing(searchParams))
    const name = decodeURIComponent(encoded)
    const found = objects.get(name)
    if (found === undefined) return fail(404, `No such object: ${bucket}/${name}`)
    if (incoming.method === 'DELETE') {
      objects.delete(name)
      return say(204)
    }
    if (searchParams.get('alt') !== 'media') return say(200, resource(name))
    const { bytes } = found
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(incoming.headers.range ?? '') ?? []
    if (from !== undefined && Number(from) >= bytes.length) {
      return fail(416, 'Requested range not satisfiable')
    }
    const sent = from === undefined ? bytes : bytes.subarray(Number(from), Number(to) + 1)
    outgoing.writeHead(from === undefined ? 200 : 206, {
      'content-type': 'application/octet-stream',
      'content-length': sent.length,
      'x-goog-hash': `crc32c=${crc(bytes)},md5=${md5(bytes)}`,
      ...(from !== undefined && {
        'content-range': `bytes ${from}-${Number(from) + sent.length - 1}/${bytes.length}`,
      }),
    })
    outgoing.end(sent)
  }

  function resource(name: string) {
    const { bytes, metadata, updated, generation: own } = objects.get(name)!
    const size = String(bytes.length)
    const hashes = { crc32c: crc(bytes), md5Hash: md5(bytes) }
    return {
      kind: 'storage#object',
      name,
      bucket,
      size,
      metadata,
      updated,
      generation: String(own),
      ...hashes,
    }
  }

  function listing(query: URLSearchParams) {
    const prefix = query.get('prefix') ?? ''
    const isHere = (name: string) =>
      name.startsWith(prefix) && !(query.has('delimiter') && name.slice(prefix.length).includes('/'))
    const names = [...objects.keys()].filter(isHere).sort()
    const from = Number(query.get('pageToken') ?? 0)
    const pageSize = Number(query.get('maxResults') ?? 1_000)
    const items = names.slice(from, from + pageSize).map(resource)
    const next = from + pageSize
    return { kind: 'storage#objects', items, ...(next < names.length && { nextPageToken: String(next) }) }
  }

  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** The two parts of an upload: the JSON of the metadata, and the bytes. */
function partsOf(body: Buffer, boundary: string): { metadata: Record<string, string>; bytes: Buffer } {
  const mark = Buffer.from(`--${boundary}`)
  const second = body.indexOf(mark, mark.length)
  const last = body.lastIndexOf(mark)
  const text = body.subarray(body.indexOf('\r\n\r\n') + 4, second).toString()
  const { metadata = {} } = JSON.parse(text) as { metadata?: Record<string, string> }
  return { metadata, bytes: body.subarray(body.indexOf('\r\n\r\n', second) + 4, last - 2) }
}

function crc(bytes: Buffer): string {
  const sum = new CRC32C()
  sum.update(bytes)
  return sum.toString()
}

const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('base64')
