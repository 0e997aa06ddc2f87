import { describe, expect, test } from 'vitest'
import { decompressLz4Frame } from '../../../../src/engine/arrow/ipc/codecs.ts'
import { decodeArrow } from '../../../../src/engine/arrow/ipc/decode.ts'
import { type HostileBody, hostileBody, lz4Zeros, plainBody } from '../../../support/hostile-bodies.ts'

const mebibyte = 2 ** 20

/** What decoding asks for before it takes it. */
async function reserved(bytes: Uint8Array): Promise<number> {
  let sum = 0
  await decodeArrow(bytes, {
    reserve: (more) => {
      sum += more
      return undefined
    },
  })
  return sum
}

describe.each(['lz4', 'zstd'] as const)('a body compressed with %s', (codec) => {
  test.each([
    ['rows of numbers', { bytes: 2 * mebibyte, columns: 3 }],
    ['one long text', { bytes: 6 * mebibyte, text: true }],
  ] satisfies [string, Omit<HostileBody, 'codec'>][])('%s: is decoded', async (_, given) => {
    const body = hostileBody({ codec, ...given })
    const table = await decodeArrow(body)
    expect(body.length).toBeLessThan(100_000)
    for (const column of table.children) {
      const { values } = column.data[0]!
      expect((values as Uint8Array).byteLength).toBe(given.bytes)
      expect((values as Uint8Array).every((value) => value === 0)).toBe(true)
    }
  })

  test('says what it takes before it takes it', async () => {
    const body = hostileBody({ codec, bytes: 2 * mebibyte, columns: 3 })
    expect(await reserved(body)).toBe(6 * mebibyte)
    await expect(
      decodeArrow(body, {
        reserve: () => {
          throw new RangeError('no room')
        },
      }),
    ).rejects.toMatchObject({ cause: { message: 'no room' } })
  })

  test('is refused when it claims more than there may be, with both sizes', async () => {
    const body = hostileBody({ codec, bytes: 2 * mebibyte, columns: 3 })
    await expect(decodeArrow(body, { maxDecodedBytes: 5 * mebibyte })).rejects.toThrow(
      'claims to take 6,291,456 bytes when decoded, and 5,242,880 are the most',
    )
    await expect(decodeArrow(body, { maxDecodedBytes: 6 * mebibyte })).resolves.toBeDefined()
  })

  test('may not claim much more than its rows need', async () => {
    const body = hostileBody({ codec, bytes: mebibyte, claim: 3 * mebibyte })
    await expect(decodeArrow(body)).rejects.toThrow(
      /claims 3145728 bytes where its rows need 1048576|that is not/,
    )
  })

  test('must hold what it claims, neither more nor less', async () => {
    for (const claim of [mebibyte - 64, mebibyte + 64]) {
      const text = hostileBody({ codec, bytes: mebibyte, claim, text: true })
      await expect(decodeArrow(text)).rejects.toThrow(/not valid|that is not/)
    }
  })

  test('stops when its signal aborts', async () => {
    const stop = new AbortController()
    const decoding = decodeArrow(hostileBody({ codec, bytes: mebibyte, columns: 40 }), {
      signal: stop.signal,
    })
    stop.abort(new Error('gone'))
    await expect(decoding).rejects.toThrow('gone')
  })
})

test('buffers that lie at the same place count each for itself', async () => {
  const body = plainBody(80_000, 40)
  expect(body.length).toBeLessThan(100_000)
  expect((await decodeArrow(body)).numRows).toBe(80_000)
  await expect(decodeArrow(body, { maxDecodedBytes: 3_000_000 })).rejects.toThrow(
    'claims to take 3,200,000 bytes',
  )
})

test('a block of LZ4 neither writes nor reads beyond its ends, and takes time by what it writes', () => {
  const zeros = lz4Zeros(100_000)
  const target = new Uint8Array(100_000).fill(1)
  decompressLz4Frame(zeros, target)
  expect(target.every((byte) => byte === 0)).toBe(true)
  expect(() => decompressLz4Frame(zeros, new Uint8Array(99_999))).toThrow('do not fit')
  expect(() => decompressLz4Frame(zeros, new Uint8Array(100_001))).toThrow('less data')
  for (let at = 7; at < zeros.length; at++) {
    const cut = zeros.slice(0, at)
    expect(() => decompressLz4Frame(cut, new Uint8Array(100_000))).toThrow()
  }
})
