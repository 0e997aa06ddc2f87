import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { type CatalogError, invalid } from '../../errors.ts'
import { type AdmissionControl, Throttled } from '../limits/admission-control.ts'
import { arrowFileType, arrowStreamType, bytesType, jsonType, type Route } from '../protocol/wire.ts'
import type { Exchange } from './exchange.ts'

/** The body of a request. */
export interface Body {
  readonly bytes: Buffer
  /** Tells that the bytes are no longer needed. */
  release(): void
}

const none: Body = { bytes: Buffer.alloc(0), release: () => {} }

/** Bodies up to this many bytes are not counted, because the number of requests bounds them. */
const uncounted = 64 * 1024

/**
 * Reads a body whole. Its size is checked against the limit as it arrives, before it is kept. Its bytes count
 * in the budget of all bodies until they are released.
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
  if (length !== undefined) return readArrived(body, length) ?? readKnown(body, length, admission)
  return readUnknown(body, limit, admission)
}

/** Reads a small body that has arrived, as most have. Listening to its events would take several times as long. */
function readArrived(stream: Readable, length: number): Body | undefined {
  if (length > uncounted || stream.readableLength !== length || stream.errored) return undefined
  const bytes = stream.read() as Buffer | null
  return bytes === null ? undefined : { bytes, release: none.release }
}

async function readKnown(stream: Readable, length: number, { bodies }: AdmissionControl): Promise<Body> {
  const counted = length > uncounted ? length : 0
  if (counted > 0) await bodies.take(counted)
  let held = counted
  const release = () => {
    bodies.give(held)
    held = 0
  }
  try {
    const bytes = Buffer.allocUnsafeSlow(length)
    let filled = 0
    await eachChunk(stream, (chunk) => {
      if (filled + chunk.length <= length) chunk.copy(bytes, filled)
      filled += chunk.length
    })
    if (filled !== length) throw brokenOff()
    return counted > 0 ? { bytes, release } : { bytes, release: none.release }
  } catch (error) {
    release()
    throw error
  }
}

async function readUnknown(stream: Readable, limit: number, { bodies }: AdmissionControl): Promise<Body> {
  const chunks: Buffer[] = []
  let filled = 0
  let held = 0
  const release = () => {
    bodies.give(held)
    held = 0
  }
  try {
    await eachChunk(stream, (chunk) => {
      filled += chunk.length
      if (filled > limit) throw tooLarge(limit)
      if (filled > uncounted) {
        if (!bodies.tryTake(chunk.length))
          throw new Throttled('The server holds as much data as it takes at once')
        held += chunk.length
      }
      chunks.push(chunk)
    })
  } catch (error) {
    release()
    throw error
  }
  return { bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, filled), release }
}

/** Calls `take` with every chunk. An error of `take` ends the reading, and the rest of the stream is ignored. */
function eachChunk(stream: Readable, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let open = true
    // The listeners stay, because an error without a listener would end the process.
    const stop = (error: unknown) => {
      open = false
      reject(error)
    }
    const breakOff = () => {
      if (open) stop(brokenOff())
    }
    stream.on('data', (chunk: Buffer | string) => {
      if (!open) return
      try {
        take(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
      } catch (error) {
        stop(error)
      }
    })
    stream.on('end', () => {
      open = false
      resolve()
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

function tooLarge(limit: number): CatalogError {
  return invalid(
    `The body is larger than ${limit.toLocaleString('en')} bytes, the most here. Send less at a time.`,
  )
}

function brokenOff(): CatalogError {
  return invalid('The body broke off before its end. Send the request again.')
}

/** The value of a JSON body; undefined for an empty one. */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  // Decoding would put another character in the place of what is broken, into a name for instance.
  if (!isUtf8(bytes)) throw invalid('The body is not valid UTF-8. Encode JSON in UTF-8.')
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.slice(0, 200) : ''
    throw invalid(`The body is not valid JSON: ${reason}. Check what is sent.`, { cause })
  }
}
