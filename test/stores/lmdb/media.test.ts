import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { fileSystemNamed, fileSystemOf } from '../../../src/stores/lmdb/file-system.ts'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { type SmallDisk, smallDisk } from '../../contents/small-disk.ts'

let disk: SmallDisk | undefined
let view: string | undefined
afterEach(() => {
  vi.restoreAllMocks()
  if (view !== undefined) {
    execFileSync('umount', ['-l', view])
    rmdirSync(view)
  }
  disk?.unmount()
  view = disk = undefined
})

test('a read-only medium is read only while no process has it open for writing', async (ctx) => {
  const mounted = smallDisk(8 << 20)
  if ('reason' in mounted) return ctx.skip(mounted.reason)
  disk = mounted
  const here = join(disk.path, 'catalog')
  mkdirSync(here)
  const writing = await openLmdbStore(here)
  await writing.write((writer) => writer.put(['a'], 1))

  // The same files once more, as a container sees a volume that it may only read.
  view = mkdtempSync(join(tmpdir(), 'tabularium-view-'))
  execFileSync('mount', ['--bind', here, view])
  execFileSync('mount', ['-o', 'remount,ro,bind', view])
  await expect(openLmdbStore(view)).rejects.toMatchObject({ code: 'PermissionDenied' })
  await expect(openLmdbStore(view, { readOnly: true })).rejects.toMatchObject({
    code: 'ServiceUnavailable',
    message: expect.stringContaining('open for writing'),
  })
  await writing.close()

  const reading = await openLmdbStore(view, { readOnly: true })
  expect(await reading.read((reader) => reader.get(['a']))).toBe(1)
  const again = await openLmdbStore(here)
  await again.write((writer) => writer.put(['a'], 2))
  await expect(reading.read((reader) => reader.get(['a']))).rejects.toMatchObject({
    code: 'ServiceUnavailable',
  })
  await again.close()
  expect(await reading.read((reader) => reader.get(['a']))).toBe(2)
  await reading.close()
})

test('a warning says when a writer elsewhere cannot be detected', async (ctx) => {
  const mounted = smallDisk(8 << 20)
  if ('reason' in mounted) return ctx.skip(mounted.reason)
  disk = mounted
  const store = await openLmdbStore(disk.path)
  await store.write((writer) => writer.put(['a'], 1))
  await store.close()
  execFileSync('rm', [join(disk.path, 'catalog.lock')])
  execFileSync('mount', ['-o', 'remount,ro', disk.path])
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const reading = await openLmdbStore(disk.path, { readOnly: true })
  expect(warned).toHaveBeenCalledWith(expect.stringContaining('is read-only here'), expect.anything())
  expect(await reading.read((reader) => reader.get(['a']))).toBe(1)
  await reading.close()
})

test('file systems of several machines are told from those of one', () => {
  expect(fileSystemOf(tmpdir())).toEqual({ network: undefined, opaque: undefined })
  // As some machines give the number.
  expect(fileSystemNamed(0xff534d42 | 0)).toEqual({ network: 'SMB', opaque: undefined })
  expect(fileSystemNamed(0x6969)).toEqual({ network: 'NFS', opaque: undefined })
  expect(fileSystemNamed(0x65735546)).toEqual({ network: undefined, opaque: 'FUSE' })
  // ext4.
  expect(fileSystemNamed(0xef53)).toEqual({ network: undefined, opaque: undefined })
})
