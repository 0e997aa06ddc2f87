import { isAscii, isUtf8 } from 'node:buffer'
import * as crypto from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { utf8Length } from '../../src/base/model/utf8.ts'
import assert from '../../src/web/node/assert/strict.ts'
import * as ownBuffer from '../../src/web/node/buffer.ts'
import * as ownCrypto from '../../src/web/node/crypto.ts'
import * as ownUrl from '../../src/web/node/url.ts'
import * as ownUtil from '../../src/web/node/util.ts'
import * as ownZlib from '../../src/web/node/zlib.ts'
import * as ownText from '../../src/web/text-of-bytes.ts'

/* The replacements of Node's modules for browsers, compared with Node's own. */

const bytes = fc.uint8Array({ maxLength: 300 })
const text = fc.string({ unit: 'binary', maxLength: 60 })

test('checksums are the same, also in pieces', () => {
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      expect(ownZlib.crc32(a)).toBe(crc32(a))
      expect(ownZlib.crc32(b, ownZlib.crc32(a))).toBe(crc32(Buffer.concat([a, b])))
    }),
  )
  fc.assert(fc.property(text, (given) => void expect(ownZlib.crc32(given)).toBe(crc32(given))))
})

test.each(['md5', 'sha224', 'sha256', 'sha384', 'sha512'])('%s is the same', (name) => {
  fc.assert(
    fc.property(bytes, text, (a, b) => {
      for (const encoding of ['hex', 'base64', 'base64url'] as const) {
        const expected = crypto.createHash(name).update(a).update(b).digest(encoding)
        expect(ownCrypto.createHash(name).update(a).update(b).digest(encoding)).toBe(expected)
      }
    }),
  )
})

test('bytes have texts of their own', () => {
  const all = Array.from({ length: 256 }, (_, byte) => ownText.textOfBytes(Uint8Array.of(byte)))
  expect(new Set(all).size).toBe(256)
  fc.assert(
    fc.property(bytes, (given) => {
      expect(ownText.textOfBytes(given)).toBe(Array.from(given, (byte) => all[byte]).join(''))
    }),
  )
})

test('codes of messages are the same', () => {
  fc.assert(
    fc.property(text, bytes, (secret, given) => {
      const expected = crypto.createHmac('sha256', secret).update('asked').update(given).digest()
      const own = ownCrypto.createHmac('sha256', secret).update('asked').update(given).digest()
      expect(own).toEqual(new Uint8Array(expected))
    }),
  )
})

test('random bytes and ids have their forms, and differ', () => {
  const ids = Array.from({ length: 50 }, ownCrypto.randomUUID)
  for (const id of ids) expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  expect(new Set(ids).size).toBe(50)
  expect(ownCrypto.randomBytes(20)).toHaveLength(20)
  expect(ownCrypto.timingSafeEqual(Buffer.from('abc'), Buffer.from('abc'))).toBe(true)
  expect(ownCrypto.timingSafeEqual(Buffer.from('abc'), Buffer.from('abd'))).toBe(false)
})

test('bytes are told to be ASCII, or UTF-8', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        bytes,
        text.map((given) => Buffer.from(given)),
      ),
      (given) => {
        expect(ownBuffer.isAscii(given)).toBe(isAscii(given))
        expect(ownBuffer.isUtf8(given)).toBe(isUtf8(given))
      },
    ),
  )
})

test('the bytes of a text are counted as Node counts them', () => {
  fc.assert(fc.property(text, (given) => void expect(utf8Length(given)).toBe(Buffer.byteLength(given))))
  expect(utf8Length('\ud83d')).toBe(3)
  expect(utf8Length('\ude00\ud83d\ude00\ud83d')).toBe(10)
})

test('paths become URLs and back', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 9 })), (names) => {
      const path = `/${names.filter((name) => !/^\.+$|\//.test(name)).join('/')}`
      expect(ownUrl.pathToFileURL(path).href).toBe(pathToFileURL(path).href)
      expect(ownUrl.fileURLToPath(ownUrl.pathToFileURL(path))).toBe(path)
    }),
  )
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).join('')
  expect(ownUrl.pathToFileURL(`/a${ascii}b`).href).toBe(pathToFileURL(`/a${ascii}b`).href)
  for (const url of ['https://a/b', 'file://host/b', 'file:///a%2fb']) {
    expect(() => ownUrl.fileURLToPath(url)).toThrow('is not the URL of a file')
  }
})

test('values are equal where Node says so', () => {
  const value = fc.anything({
    withMap: true,
    withSet: true,
    withBigInt: true,
    withTypedArray: true,
    withDate: true,
  })
  const other = (given: unknown) => fc.oneof(fc.constant(structuredClone(given)), value)
  fc.assert(
    fc.property(
      value.filter(isPlain).chain((a) => fc.tuple(fc.constant(a), other(a).filter(isPlain))),
      ([a, b]) => {
        expect(ownUtil.isDeepStrictEqual(a, b)).toBe(isDeepStrictEqual(a, b))
      },
    ),
    { numRuns: 2_000 },
  )
})

/** Whether no map key or set member is an object, which the replacement compares by identity and Node deeply. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  // Releases of Node differ about dates that are none.
  if (value instanceof Date) return !Number.isNaN(value.getTime())
  if (value instanceof Set) return [...value].every((member) => typeof member !== 'object' || member === null)
  if (value instanceof Map) {
    return [...value].every(([key, held]) => (typeof key !== 'object' || key === null) && isPlain(held))
  }
  return Object.values(value).every(isPlain)
}

describe('assertions', () => {
  const wrong = new Error('wrong')
  test.each<[what: string, holds: () => unknown, fails: () => unknown]>([
    ['ok', () => assert.ok(1), () => assert.ok(0)],
    ['equal', () => assert.equal(Number.NaN, Number.NaN), () => assert.equal(1, '1')],
    ['notEqual', () => assert.notEqual(1, 2), () => assert.notEqual(1, 1)],
    ['deepEqual', () => assert.deepEqual({ a: [1n] }, { a: [1n] }), () => assert.deepEqual([1n], [2n])],
    ['match', () => assert.match('ab', /b/), () => assert.match('ab', /c/)],
    ['doesNotMatch', () => assert.doesNotMatch('ab', /c/), () => assert.doesNotMatch('ab', /b/)],
    ['fail', () => {}, () => assert.fail('no')],
    ['throws', () => assert.throws(raise), () => assert.throws(() => {})],
    ['rejects', () => assert.rejects(Promise.reject(wrong)), () => assert.rejects(Promise.resolve())],
    ['a class', () => assert.throws(raise, Error), () => assert.throws(raise, RangeError)],
    ['a function', () => assert.throws(raise, (e) => e === wrong), () => assert.throws(raise, () => false)],
    [
      'a message',
      () => assert.throws(raise, { message: 'wrong' }),
      () => assert.throws(raise, { message: 'no' }),
    ],
  ])('%s holds, and fails', async (_, holds, fails) => {
    await holds()
    await expect((async () => fails())()).rejects.toBeInstanceOf(Error)
  })

  function raise(): never {
    throw wrong
  }
})
