import { once } from 'node:events'
import { connect as dial } from 'node:net'
import { Float64, Table, tableFromArrays, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow'
import { expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { type ServeOptions, serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { fails } from '../support/refusals.ts'
import { countOf } from '../support/rows.ts'
import { limitEach } from '../support/time-limit.ts'
import { arrowStream } from './support/ask.ts'

// Bodies of some megabytes are sent.
limitEach(60)

/*
 * Rows that are sent without their length, and written while they arrive. Bodies begin with more than a server reads
 * before it begins to write.
 */

const id = ['t']

async function running(options: Partial<ServeOptions> = {}) {
  const catalog = await openCatalog('memory:')
  await catalog.createTable({ id, data: [{ n: 0, text: 'first' }] })
  const server = await serve(catalog, {
    auth: false,
    port: 0,
    log: false,
    ...options,
    limits: { eventLoopDelay: 0, ...options.limits },
  })
  onTestFinished(async () => {
    await server.close()
    await catalog.close()
  })
  const held = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    return Number(/^tabularium_body_bytes (\d+)/m.exec(text)?.[1])
  }
  /** Nothing of a failed insert is left. */
  const untouched = async () => {
    const { versions } = await catalog.listTableVersions({ id })
    expect(versions.length).toBe(1)
    expect(await countOf(catalog, id)).toBe(1)
    await expect.poll(held).toBe(0)
  }
  return { catalog, url: server.url, port: Number(new URL(server.url).port), untouched }
}

/** Begins a chunked request with `bytes`, and returns its socket and what comes back. */
async function begun(port: number, bytes: Uint8Array) {
  const socket = dial({ port, host: '127.0.0.1' })
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  socket.write(
    `POST /v1/table/t/insert HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${arrowStream['content-type']}\r\ntransfer-encoding: chunked\r\n\r\n`,
  )
  socket.write(`${bytes.length.toString(16)}\r\n`)
  socket.write(bytes)
  socket.write('\r\n')
  return { socket, text: () => text }
}

/** An Arrow stream or file of some megabytes, in batches of 500 rows. */
function large(format: 'stream' | 'file' = 'stream'): Uint8Array {
  const batches = Array.from({ length: 6 }, (_, b) => {
    const numbers = Array.from({ length: 500 }, (_, i) => 500 * b + i)
    const columns = {
      n: vectorFromArray(numbers, new Float64()),
      text: vectorFromArray(
        numbers.map(() => 'x'.repeat(1_000)),
        new Utf8(),
      ),
    }
    return new Table(columns)
  })
  return tableToIPC(batches[0]!.concat(...batches.slice(1)), format)
}

async function* counted(rows: number) {
  for (let n = 0; n < rows; n++) yield { n, text: 'x'.repeat(1_000) }
}

/** The bytes of a stream, in pieces. */
async function* cut(bytes: Uint8Array) {
  for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000)
}

it('rows of a client’s generator become one version, and a generator that throws leaves none', async () => {
  const { catalog, url, untouched } = await running()
  await using client = connect(url)
  async function* failing() {
    yield* counted(8_000)
    throw new Error('the well is dry')
  }
  await fails(client.insertIntoTable({ id, data: failing() }), 'InvalidInput', 'the well is dry')
  await untouched()
  const { version } = await client.insertIntoTable({ id, data: counted(8_000) })
  expect([version, await countOf(catalog, id)]).toEqual([2, 8_001])
})

it('a client that disconnects or aborts leaves no version', async () => {
  const { port, url, untouched } = await running()
  const { socket } = await begun(port, large().subarray(0, 2_000_000))
  await expect.poll(() => socket.bytesWritten).toBeGreaterThan(2_000_000)
  socket.destroy()
  await untouched()
  await using client = connect(url)
  const stop = new AbortController()
  async function* endless() {
    for (let n = 0; ; n++) {
      if (n === 5_000) stop.abort(new Error('enough'))
      yield { n, text: 'x'.repeat(1_000) }
    }
  }
  const call = client.insertIntoTable({ id, data: endless() }, { signal: stop.signal })
  await expect(call).rejects.toThrow('enough')
  await untouched()
})

it('a stream that stands still, is cut off or is too long is refused', async () => {
  const { port, url, untouched } = await running({
    timeouts: { upload: 1_000 },
    limits: { streamedBytes: 3_500_000 },
  })
  const stalled = await begun(port, large().subarray(0, 2_000_000))
  await expect.poll(stalled.text).toMatch(/400 Bad Request[\s\S]*stood still/)
  await untouched()
  const ended = await begun(port, large().subarray(0, 2_000_000))
  ended.socket.write('0\r\n\r\n')
  await expect.poll(ended.text).toMatch(/400 Bad Request[\s\S]*ends in the middle/)
  await untouched()
  await using client = connect(url)
  await fails(client.insertIntoTable({ id, data: counted(5_000) }), 'InvalidInput', '3,500,000 bytes')
  await untouched()
})

it('a slow stream may take longer than a body that is read whole', async () => {
  const { catalog, port } = await running({ timeouts: { request: 200, upload: 5_000 } })
  const bytes = large()
  const { socket, text } = await begun(port, bytes.subarray(0, 2_000_000))
  // Node looks at the times of requests each second.
  for (let at = 2_000_000; at < bytes.length; at += 60_000) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    const part = bytes.subarray(at, at + 60_000)
    socket.write(`${part.length.toString(16)}\r\n`)
    socket.write(part)
    socket.write('\r\n')
  }
  socket.write('0\r\n\r\n')
  await expect.poll(text).toMatch(/200 OK/)
  expect(await countOf(catalog, id)).toBe(3_001)
})

it('a stream that drips is refused, and so is a file that takes too long', async () => {
  const { port, untouched } = await running({ timeouts: { request: 200, upload: 800 } })
  const dripped = await begun(port, large().subarray(0, 2_000_000))
  const dripping = setInterval(() => dripped.socket.write('1\r\nx\r\n'), 20)
  onTestFinished(() => clearInterval(dripping))
  await expect.poll(dripped.text).toMatch(/400 Bad Request[\s\S]*less than 16384 bytes of it came in 4.8 s/)
  await untouched()
  const file = await begun(port, large('file').subarray(0, 100_000))
  const feeding = setInterval(() => file.socket.write(`4e20\r\n${'x'.repeat(20_000)}\r\n`), 20)
  onTestFinished(() => clearInterval(feeding))
  await expect.poll(file.text).toMatch(/400 Bad Request[\s\S]*too long to arrive/)
  await untouched()
})

it('streams that stand open leave room for other requests', async () => {
  const { url, port, untouched } = await running({
    limits: { bodyBytes: 100 * 2 ** 20, arrowBytes: 16 * 2 ** 20 },
  })
  const first = await begun(port, large().subarray(0, 2_000_000))
  const second = await begun(port, large().subarray(0, 2_000_000))
  await expect
    .poll(async () =>
      Number(/^tabularium_body_bytes (\d+)/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]),
    )
    .toBeGreaterThan(64 * 2 ** 20)
  const headers = { 'content-type': 'application/json' }
  const query = await fetch(`${url}/v1/table/t/query`, { method: 'POST', body: '{}', headers })
  expect(query.status).toBe(200)
  first.socket.destroy()
  second.socket.destroy()
  await untouched()
})

it('a row that does not fit, and a schema that does not, end the request early', async () => {
  const { url, untouched } = await running()
  await using client = connect(url)
  const other = tableToIPC(tableFromArrays({ other: [1] }), 'stream')
  async function* changing() {
    yield* cut(large())
    yield other
    yield* cut(large())
  }
  await fails(client.insertIntoTable({ id, data: changing() }), 'TableSchemaValidationError', 'other')
  await untouched()
})

it('an Arrow file of unknown length is read whole', async () => {
  const { catalog, url } = await running()
  const response = await fetch(`${url}/v1/table/t/insert`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.apache.arrow.file' },
    body: ReadableStream.from(cut(large('file'))),
    duplex: 'half',
  } as RequestInit)
  expect(response.status).toBe(200)
  expect(await countOf(catalog, id)).toBe(3_001)
})

it('a slow source keeps no other insert from its work', async () => {
  await using catalog = await openCatalog('memory:', { concurrency: 1 })
  await catalog.createTable({ id, data: [{ n: 0 }] })
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  async function* slow() {
    yield { n: 1 }
    await promise
    yield { n: 2 }
  }
  const inserting = catalog.insertIntoTable({ id, data: slow() })
  await catalog.insertIntoTable({ id, data: [{ n: 3 }] })
  resolve()
  expect((await inserting).version).toBe(3)
  expect(await countOf(catalog, id)).toBe(4)
})
