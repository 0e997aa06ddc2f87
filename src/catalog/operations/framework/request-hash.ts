import { createHash, type Hash } from 'node:crypto'
import { invalid } from '../../../base/errors.ts'
import { TimeSlice } from '../../../base/scheduling/time-slice.ts'

/** Bytes that are hashed at once: they take a millisecond. */
const atOnce = 1024 * 1024

/**
 * A hash of what a request asks: of all its fields but `context` and `identity`, which differ between attempts. The
 * order of fields does not count. Fails with `InvalidInput` for rows that cannot be compared.
 */
export async function requestHash(request: unknown, signal: AbortSignal | undefined): Promise<string> {
  const { context: _, identity: __, ...fields } = request as Readonly<Record<string, unknown>>
  const hash = createHash('sha256')
  await add(hash, fields, new TimeSlice(signal))
  return hash.digest('base64url')
}

/** Each value begins with its kind and, if its end is not clear, its length: so no two values have the same bytes. */
async function add(hash: Hash, value: unknown, timeSlice: TimeSlice): Promise<void> {
  if (timeSlice.due) await timeSlice.rest()
  const bytes = bytesOf(value)
  if (bytes !== undefined) {
    hash.update(`b${kindOfBytes(value)} ${bytes.length};`)
    for (let at = 0; at < bytes.length; at += atOnce) {
      if (timeSlice.due) await timeSlice.rest()
      hash.update(bytes.subarray(at, at + atOnce))
    }
  } else if (Array.isArray(value)) {
    hash.update(`l${value.length};`)
    for (const item of value) {
      const adding = addPart(hash, item, timeSlice)
      if (adding) await adding
    }
  } else if (isPlain(value)) {
    const names = Object.keys(value).filter((name) => value[name] != null)
    hash.update(`o${names.length};`)
    for (const name of names.sort()) {
      hash.update(textOf(name)!)
      const adding = addPart(hash, value[name], timeSlice)
      if (adding) await adding
    }
  } else {
    hash.update(textOf(value) ?? refused())
  }
}

/** Adds a value at once if it has no parts: a promise for each of many would take longer than the hash. */
function addPart(hash: Hash, value: unknown, timeSlice: TimeSlice): Promise<void> | undefined {
  const text = textOf(value)
  if (text === undefined) return add(hash, value, timeSlice)
  hash.update(text)
  return undefined
}

/** The text of a value without parts; undefined for others. */
function textOf(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return `s${value.length};${value}`
    case 'number':
    case 'boolean':
    case 'bigint':
      return `${typeof value} ${Object.is(value, -0) ? '-0' : value};`
    case 'undefined':
      return 'null;'
  }
  if (value === null) return 'null;'
  return value instanceof Date ? `d${value.getTime()};` : undefined
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (!ArrayBuffer.isView(value)) return undefined
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
}

/** The same numbers in another type of array are another value; a Buffer is a Uint8Array. */
function kindOfBytes(value: unknown): string {
  return value instanceof ArrayBuffer ? 'Uint8Array' : Object.prototype.toString.call(value).slice(8, -1)
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function refused(): never {
  throw invalid(
    'A request with an idempotency key has a part that cannot be compared with another request, such as rows of a generator. Give rows as Arrow bytes or as a list of plain objects, and a schema as JSON, or leave the key out.',
  )
}
