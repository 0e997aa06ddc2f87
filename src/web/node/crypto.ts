import { hmac } from '@noble/hashes/hmac.js'
import { md5 } from '@noble/hashes/legacy.js'
import { sha224, sha256, sha384, sha512 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'

/*
 * The part of `node:crypto` that a catalog in memory needs. Web Crypto hashes are asynchronous, but transaction bodies
 * and predicates are synchronous. Digests are plain bytes: the client needs hashes, and no `Buffer`.
 */

const hashes = { md5, sha224, sha256, sha384, sha512 }

interface Hashing {
  update(bytes: Uint8Array): unknown
  digest(): Uint8Array
}

class Hash {
  readonly #state: Hashing

  constructor(state: Hashing) {
    this.#state = state
  }

  update(data: string | Uint8Array): this {
    this.#state.update(bytesOf(data))
    return this
  }

  digest(): Uint8Array
  digest(encoding: 'hex' | 'base64' | 'base64url'): string
  digest(encoding?: 'hex' | 'base64' | 'base64url'): Uint8Array | string {
    const bytes = this.#state.digest()
    if (encoding === undefined) return bytes
    if (encoding === 'hex') return bytesToHex(bytes)
    const base64 = btoa(String.fromCharCode(...bytes))
    return encoding === 'base64'
      ? base64
      : base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  }
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? new TextEncoder().encode(data) : data
}

export function createHash(algorithm: string): Hash {
  return new Hash(hashes[algorithm as keyof typeof hashes].create())
}

export function createHmac(algorithm: string, secret: string): Hash {
  return new Hash(hmac.create(hashes[algorithm as keyof typeof hashes], bytesOf(secret)))
}

export function randomBytes(size: number): Buffer {
  return Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(size)))
}

/** Pages without TLS have no `crypto.randomUUID`. */
export function randomUUID(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytesToHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

export function timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ b[i]!
  return difference === 0
}
