import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import type { Io } from '../io.ts'
import type { Served } from './connection.ts'
import { type Report, serveConnection } from './protocol-server.ts'
import type { Sdk } from './sdk.ts'

/** The most bytes of one message: as many as a server takes as JSON. */
const maxMessageBytes = 16 * 1024 * 1024

/** Serves one client over standard input and output, until the input ends or the signal aborts. */
export async function serveStreams(
  sdk: Sdk,
  served: Served,
  io: Pick<Io, 'stdin' | 'stdout'>,
  signal: AbortSignal,
  report: Report,
): Promise<void> {
  const output = io.stdout instanceof Writable ? io.stdout : writableOf(io.stdout)
  // The SDK waits with a listener for each answer that the client has not taken. `paced` bounds how many there are.
  output.setMaxListeners(0)
  const input = Readable.from(paced(io.stdin, output), { objectMode: false })
  const transport = new sdk.StdioServerTransport(input, output, { maxBufferSize: maxMessageBytes })
  const { server, close } = serveConnection(sdk, served, undefined, report)
  server.onerror = report
  const ended = new Promise<void>((resolve) => {
    const { onclose } = server
    server.onclose = () => {
      onclose?.()
      resolve()
    }
    input.once('end', resolve).once('error', () => resolve())
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  await server.connect(transport)
  if (!signal.aborted) await ended
  await close()
  input.destroy()
  // The client may keep it open.
  io.stdin.unref?.()
}

/** Reads on only while the client takes its answers, so that these do not pile up. */
async function* paced(input: AsyncIterable<Uint8Array>, output: Writable): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) {
    while (output.writableNeedDrain) await once(output, 'drain')
    yield chunk
  }
}

function writableOf(output: Io['stdout']): Writable {
  return new Writable({
    write(chunk: Uint8Array, _encoding, done) {
      output.write(chunk)
      done()
    },
  })
}
