import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { type CatalogError, invalid } from '../../base/errors.ts'
import type { Hold } from '../../base/scheduling/byte-budget.ts'
import { TimeSlice } from '../../base/scheduling/time-slice.ts'
import { clearInterval, setInterval } from '../../base/time.ts'
import { arrowFileType, arrowStreamType, bytesType, jsonType, type Route } from '../../protocol/wire.ts'
import type { AdmissionControl } from '../limits/admission-control.ts'
import type { Exchange } from './exchange.ts'

/** The body of a request. */
export interface Body {
  readonly bytes: Buffer
  /** The memory that it takes, to be released when its bytes are no longer needed; absent for a small one. */
  readonly hold?: Hold
}

const none: Body = { bytes: Buffer.alloc(0) }

/** What is no larger is not counted, because the number of requests and connections bounds it. */
export const uncounted = 64 * 1024

/**
 * Reads a body whole. Its size is checked against the limit as it arrives, before it is kept. Its bytes count in the
 * budget of the server as they arrive, so that a body which is only announced takes no room.
 */
export function readBody(
  exchange: Exchange,
  kind: Route['body'],
  admission: AdmissionControl,
): Body | Promise<Body> {
  const { headers } = exchange
  const declared = headers['content-length']
  const length = declared === undefined ? undefined : Number(declared)
  if (length === 0 || (length === undefined && headers['transfer-encoding'] === undefined)) return none
  checkHeaders(headers, kind)
  const limit = kind === 'arrow' ? admission.limits.arrowBytes : admission.limits.jsonBytes
  if (length !== undefined && length > limit) throw tooLarge(limit)
  const { body } = exchange
  if (length !== undefined && length <= uncounted && body.readableLength === length && !body.errored) {
    // Most bodies are small and have arrived. Listening to their events would take several times as long.
    const bytes = body.read() as Buffer | null
    if (bytes !== null) return { bytes }
  }
  return readArriving(body, length, limit, admission)
}

async function readArriving(
  stream: Readable,
  length: number | undefined,
  limit: number,
  { memory, silences }: AdmissionControl,
): Promise<Body> {
  const hold = memory.hold(length ?? limit)
  const arrived = new Arrived(length)
  try {
    await eachChunk(stream, silences.upload, (chunk) => {
      arrived.add(chunk)
      const { size } = arrived
      if (size > (length ?? limit)) throw length === undefined ? tooLarge(limit) : brokenOff()
      return size > uncounted ? hold.take(size - hold.held) : undefined
    })
    if (length !== undefined && arrived.size !== length) throw brokenOff()
    return { bytes: await arrived.whole(), hold }
  } catch (error) {
    hold.release()
    throw error
  }
}

/** The bytes of a body that have come so far. */
class Arrived {
  size = 0
  readonly #length: number | undefined
  #chunks: Buffer[] = []
  /** The whole body, once enough of it has come that the rest will come, too. */
  #bytes: Buffer | undefined

  constructor(length: number | undefined) {
    this.#length = length
  }

  add(chunk: Buffer): void {
    const at = this.size
    this.size += chunk.length
    if (this.#bytes !== undefined) chunk.copy(this.#bytes, at)
    else this.#chunks.push(chunk)
    const length = this.#length
    if (this.#bytes !== undefined || length === undefined || this.size < length / 4) return
    this.#bytes = Buffer.allocUnsafeSlow(length)
    let to = 0
    for (const early of this.#chunks) to += early.copy(this.#bytes, to)
    this.#chunks = []
  }

  async whole(): Promise<Buffer> {
    if (this.#bytes !== undefined) return this.#bytes
    const bytes = Buffer.allocUnsafeSlow(this.size)
    const timeSlice = new TimeSlice(undefined)
    let to = 0
    for (let chunk = this.#chunks.shift(); chunk !== undefined; chunk = this.#chunks.shift()) {
      to += chunk.copy(bytes, to)
      if (timeSlice.due) await timeSlice.rest()
    }
    return bytes
  }
}

/** A body that comes slower than so many bytes in the time of silence is as good as silent. */
const leastBytes = 16 * 1024

/**
 * Calls `take` with every chunk. While `take` waits, nothing more is read. An error of `take` ends the reading, and
 * the rest of the stream is ignored. So does a silence of so many milliseconds.
 */
function eachChunk(
  stream: Readable,
  silence: number,
  take: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let open = true
    let waiting: Promise<void> | undefined
    let recent = 0
    const timer = setInterval(() => {
      if (waiting === undefined && recent < leastBytes) stop(silent(silence))
      recent = 0
    }, silence)
    // The listeners stay, because an error without a listener would end the process.
    const finish = (settle: () => void) => {
      clearInterval(timer)
      open = false
      settle()
    }
    const stop = (error: unknown) => {
      if (open) finish(() => reject(error))
    }
    const breakOff = () => stop(brokenOff())
    stream.on('data', (chunk: Buffer | string) => {
      if (!open) return
      try {
        recent += chunk.length
        waiting = take(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
        if (waiting === undefined) return
        stream.pause()
        waiting.then(() => {
          waiting = undefined
          recent = leastBytes
          stream.resume()
        }, stop)
      } catch (error) {
        stop(error)
      }
    })
    stream.on('end', () => {
      if (open) finish(resolve)
    })
    stream.on('close', breakOff)
    stream.on('error', breakOff)
  })
}

const jsonTypes = /^application\/(?:[\w.+-]+\+)?json$/

function checkHeaders(headers: IncomingHttpHeaders, kind: Route['body']): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw invalid(`The body is encoded with ${JSON.stringify(encoding)}. Send it without Content-Encoding.`)
  }
  if (kind !== 'arrow' && headers['content-type'] === jsonType) return
  const type =
    /^[^;]*/
      .exec(headers['content-type'] ?? '')?.[0]
      .trim()
      .toLowerCase() || undefined
  if (kind === 'arrow') {
    if (type === undefined || type === arrowStreamType || type === arrowFileType || type === bytesType) return
    throw wrongType(type, `${arrowStreamType} or ${arrowFileType}`)
  }
  if (type !== undefined && !jsonTypes.test(type)) throw wrongType(type, jsonType)
}

function wrongType(type: string, wanted: string): CatalogError {
  return invalid(`The body has Content-Type ${JSON.stringify(type)}. Send Content-Type: ${wanted}.`)
}

export function tooLarge(limit: number): CatalogError {
  return invalid(
    `The body is larger than ${limit.toLocaleString('en')} bytes, the most here. Send less at a time.`,
  )
}

function brokenOff(): CatalogError {
  return invalid('The body broke off before its end. Send the request again.')
}

function silent(millis: number): CatalogError {
  return invalid(
    `The body stood still: less than ${leastBytes} bytes of it came in ${millis / 1_000} seconds. Send the request again, on a faster way or in parts.`,
  )
}
