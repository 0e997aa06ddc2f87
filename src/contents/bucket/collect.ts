import type { Readable } from 'node:stream'

/**
 * The bytes of a stream with an announced length of `expected`. Each byte is then copied once: the clients' own
 * collectors copy all of them twice. Rejects when the stream breaks off.
 */
export function collect(stream: Readable, expected: number | undefined): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let bytes = ownBytes(expected ?? 0)
    let size = 0
    stream.on('data', (part: Uint8Array) => {
      if (size + part.length > bytes.length) {
        const grown = ownBytes(Math.max(size + part.length, bytes.length * 2))
        grown.set(bytes.subarray(0, size))
        bytes = grown
      }
      bytes.set(part, size)
      size += part.length
    })
    stream.on('end', () => resolve(bytes.subarray(0, size)))
    stream.on('error', reject)
    stream.on('close', () => reject(new Error('the stream was closed before its end')))
  })
}

/** Bytes with their own buffer, which begins at an aligned address. Uninitialized: all of them are written. */
function ownBytes(length: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer)
}
