import { crc32 } from 'node:zlib'

/*
 * JSON objects with a checksum, so that damage is found. Kind, format and checksum come before the body:
 * `{"tabularium":"manifest","format":1,"crc32":"…","body":…}`.
 */

/** The bytes of an object, from the JSON text of its body. */
export function seal(kind: string, format: number, text: string): Uint8Array {
  const sum = crc32(text).toString(16).padStart(8, '0')
  return Buffer.from(`{"tabularium":"${kind}","format":${format},"crc32":"${sum}","body":${text}}`)
}

const front = /^\{"tabularium":"([a-z]+)","format":(\d+),"crc32":"([0-9a-f]{8})","body":/

/** The body of a sealed object. `fault` is what is wrong with the bytes, as the end of a sentence. */
export function unseal(
  kind: string,
  newest: number,
  bytes: Uint8Array,
): { readonly body: unknown } | { readonly fault: string } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const header = front.exec(buffer.toString('latin1', 0, 128))
  if (header?.[1] !== kind) return { fault: `is not a ${kind} of a table` }
  if (Number(header[2]) > newest) {
    return {
      fault: `has format ${header[2]}, which a newer version of tabularium wrote; this one reads up to ${newest}`,
    }
  }
  const text = buffer.subarray(header[0].length, -1)
  if (crc32(text) !== Number.parseInt(header[3]!, 16)) return { fault: 'is damaged: its checksum is wrong' }
  return { body: JSON.parse(text.toString()) }
}
