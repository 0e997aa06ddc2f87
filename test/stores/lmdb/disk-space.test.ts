import { expect, onTestFinished, test, vi } from 'vitest'
import { performance } from '../../../src/base/time.ts'
import { DiskSpace } from '../../../src/stores/lmdb/disk-space.ts'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { smallDisk } from '../../contents/small-disk.ts'

const kibibyte = 1024

test('writes begin where some space stays free, and looks are few', () => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(1_000)
  onTestFinished(() => clock.mockRestore())
  let free = 1_000_000 * kibibyte
  const asked = vi.fn(() => free)
  const space = new DiskSpace('/folder', asked)
  for (let i = 0; i < 1_000; i++) {
    space.begin()
    space.add(100, false)
  }
  expect(asked).toHaveBeenCalledTimes(1)
  free = 300 * kibibyte
  const crowded = new DiskSpace('/folder', asked)
  crowded.begin()
  free = 200 * kibibyte
  const full = expect.objectContaining({ code: 'ENOSPC' })
  const nearlyFull = new DiskSpace('/folder', asked)
  nearlyFull.begin()
  expect(() => nearlyFull.add(100, false)).toThrow(full)
  // What removes makes room.
  nearlyFull.begin()
  nearlyFull.add(100, true)
  free = 90 * kibibyte
  expect(() => nearlyFull.add(100, true)).toThrow(full)
  expect(() => new DiskSpace('/folder', asked).begin()).toThrow(full)
})

test('a commit that would not fit is refused while it is made', () => {
  const space = new DiskSpace('/folder', () => 1_000 * kibibyte)
  space.begin()
  let put = 0
  const fill = () => {
    for (; put < 1_000; put++) space.add(kibibyte, false)
  }
  expect(fill).toThrow(expect.objectContaining({ code: 'ENOSPC' }))
  expect(put).toBeGreaterThan(600)
  expect(put).toBeLessThan(744)
  // The next commit begins with what is free.
  space.begin()
  space.add(kibibyte, false)
})

test('a disk whose space cannot be asked is written as ever', () => {
  const space = new DiskSpace('/folder', () => {
    throw new Error('not here')
  })
  space.begin()
  space.add(10_000_000, false)
})

test('the driver of a store never meets a full disk, whether changes are small or large', async (ctx) => {
  const mounted = smallDisk(3 << 20)
  if ('reason' in mounted) return ctx.skip(mounted.reason)
  const printed = vi.spyOn(console, 'error')
  try {
    const store = await openLmdbStore(mounted.path)
    const full = { code: 'ServiceUnavailable', message: expect.stringMatching(/the disk is full, nothing/) }
    await expect(
      store.write((tx) => {
        for (let i = 0; i < 30_000; i++) tx.put(['large', i], 'x'.repeat(400))
      }),
    ).rejects.toMatchObject(full)
    let written = 0
    let refusal: unknown
    while (refusal === undefined && written < 100_000) {
      await store
        .write((tx) => tx.put(['small', written], 'x'.repeat(4_000)))
        .then(
          () => written++,
          (error) => {
            refusal = error
          },
        )
    }
    expect(refusal).toMatchObject(full)
    expect(await store.read((tx) => [...tx.range({})].length)).toBe(written)
    await store.close()
    expect(printed).not.toHaveBeenCalled()
  } finally {
    printed.mockRestore()
    mounted.unmount()
  }
})

test('a change that does not fit leaves its room to those beside it', async (ctx) => {
  const mounted = smallDisk(3 << 20)
  if ('reason' in mounted) return ctx.skip(mounted.reason)
  try {
    const store = await openLmdbStore(mounted.path)
    const [large, small] = await Promise.allSettled([
      store.write((tx) => {
        for (let i = 0; i < 30_000; i++) tx.put(['large', i], 'x'.repeat(400))
      }),
      store.write((tx) => tx.put(['small'], 'x')),
    ])
    expect(large).toMatchObject({ status: 'rejected', reason: { code: 'ServiceUnavailable' } })
    expect(small).toMatchObject({ status: 'fulfilled' })
    expect(await store.read((tx) => [...tx.range({})].map(({ key }) => key))).toEqual([['small']])
    await store.close()
  } finally {
    mounted.unmount()
  }
})
