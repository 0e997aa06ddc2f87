import type { Socket } from 'node:net'
import { deserialize, serialize } from 'node:v8'

/*
 * Messages between a catalog and the process of its Lance. A frame has a header of 16 bytes, a small message that is
 * serialized as by a structured clone, and at most one run of bytes, which is Arrow. These bytes are written as they
 * are, and read into a buffer of their own.
 */

/** A message, and the Arrow bytes that it is about. */
export interface Frame {
  readonly message: unknown
  readonly bytes: Uint8Array | undefined
}

const headerBytes = 16
/** Most bytes of a message: predicates, vectors and schemas, and no rows. */
const mostMessage = 1 << 28
/** Most Arrow bytes of a frame. */
export const mostBytes = 2 ** 32

/** Writes a frame. Its bytes may be in several pieces, and are one piece when they arrive. */
export function writeFrame(channel: Socket, message: unknown, pieces?: readonly Uint8Array[]): void {
  const body = serialize(message)
  const head = Buffer.allocUnsafe(headerBytes + body.length)
  head.writeDoubleLE(body.length, 0)
  head.writeDoubleLE(pieces?.reduce((sum, { length }) => sum + length, 0) ?? -1, 8)
  body.copy(head, headerBytes)
  channel.cork()
  channel.write(head)
  for (const piece of pieces ?? []) channel.write(piece)
  channel.uncork()
}

/** Calls back for each frame that arrives. Throws for what is none. */
export function frameReader(receive: (frame: Frame) => void): (chunk: Uint8Array) => void {
  let part = new Filling(headerBytes)
  let body: Uint8Array | undefined
  let lengths: { readonly message: number; readonly bytes: number } | undefined
  const next = () => {
    if (lengths === undefined) {
      lengths = lengthsOf(part.bytes)
      part = new Filling(lengths.message)
    } else if (body === undefined && lengths.bytes > 0) {
      body = part.bytes
      part = new Filling(lengths.bytes)
    } else {
      const bytes = lengths.bytes < 0 ? undefined : body === undefined ? new Uint8Array() : part.bytes
      const message: unknown = deserialize(body ?? part.bytes)
      part = new Filling(headerBytes)
      body = undefined
      lengths = undefined
      receive({ message, bytes })
    }
  }
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      at += part.take(chunk, at)
      if (part.isFull) next()
    }
  }
}

function lengthsOf(header: Buffer): { readonly message: number; readonly bytes: number } {
  const message = header.readDoubleLE(0)
  const bytes = header.readDoubleLE(8)
  if (message > 0 && message <= mostMessage && bytes >= -1 && bytes <= mostBytes) return { message, bytes }
  throw new RangeError(`A frame of ${message} and ${bytes} bytes is none of Lance's process.`)
}

/** A buffer that fills up. */
class Filling {
  readonly bytes: Buffer
  #filled = 0

  constructor(length: number) {
    // Not of the shared pool: values of Arrow begin at multiples of eight.
    this.bytes = Buffer.allocUnsafeSlow(length)
  }

  get isFull(): boolean {
    return this.#filled === this.bytes.length
  }

  take(chunk: Uint8Array, from: number): number {
    const length = Math.min(chunk.length - from, this.bytes.length - this.#filled)
    this.bytes.set(
      from === 0 && length === chunk.length ? chunk : chunk.subarray(from, from + length),
      this.#filled,
    )
    this.#filled += length
    return length
  }
}
