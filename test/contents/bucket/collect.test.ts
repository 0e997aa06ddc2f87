import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { collect } from '../../../src/contents/bucket/bucket.ts'

const parts = [Buffer.from('one'), Buffer.alloc(0), Buffer.from('two'), Buffer.alloc(100_000, 'x')]

test.each([[undefined], [0], [5], [100_006], [200_000]])(
  'a stream of which %s bytes are announced is collected whole, and aligned',
  async (announced) => {
    const bytes = await collect(Readable.from(parts), announced)
    expect(Buffer.compare(bytes, Buffer.concat(parts))).toBe(0)
    expect(bytes.byteOffset % 8).toBe(0)
    expect(Buffer.isBuffer(bytes)).toBe(false)
  },
)

test('a stream that breaks off, or is closed before its end, is an error', async () => {
  const broken = Readable.from(
    (async function* () {
      yield parts[0]
      throw new Error('broke off')
    })(),
  )
  await expect(collect(broken, 6)).rejects.toThrow('broke off')
  const closed = new Readable({ read() {} })
  closed.push(parts[0])
  const collected = collect(closed, 6)
  closed.destroy()
  await expect(collected).rejects.toThrow('closed before its end')
})
