import { expect, test } from 'vitest'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { Repeats } from '../../../src/iceberg/rest/repeats.ts'

const always = () => true

test('requests with one key that come at once are one, and later ones get its answer', async () => {
  const repeats = new Repeats<number>(() => 0)
  let runs = 0
  const run = async () => ++runs
  const first = [repeats.once('a', run, always), repeats.once('a', run, always)]
  expect(await Promise.all([...first, repeats.once('a', run, always)])).toEqual([1, 1, 1])
  expect(await repeats.once('b', run, always)).toBe(2)
  const refuse = async () => {
    runs++
    throw new IcebergError('CommitFailedException', 'no')
  }
  await expect(repeats.once('c', refuse, always)).rejects.toThrow('no')
  await expect(repeats.once('c', run, always)).rejects.toThrow('no')
  expect(runs).toBe(3)
})

test('a request whose first attempt was canceled, or met a fault of the server, is run', async () => {
  const repeats = new Repeats<string>(() => 0)
  let cancel = (_: Error) => {}
  const canceled = () =>
    new Promise<string>((_, reject) => {
      cancel = reject
    })
  const first = repeats.once('a', canceled, always)
  const second = repeats.once('a', async () => 'done', always)
  const third = repeats.once('a', async () => 'done again', always)
  cancel(new Error('The connection was closed.'))
  await expect(first).rejects.toThrow('closed')
  expect(await second).toBe('done')
  expect(await third).toBe('done')
})

test('answers are forgotten after their time, and where they are large', async () => {
  let now = 0
  const repeats = new Repeats<number>(() => now)
  let runs = 0
  const run = async () => ++runs
  await repeats.once('a', run, always)
  now = 31 * 60_000
  expect(await repeats.once('a', run, always)).toBe(2)
  await repeats.once('b', run, () => false)
  expect(await repeats.once('b', run, () => false)).toBe(4)
})
