import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { fileContent } from '../../src/contents/files/index.ts'
import { refused } from '../../src/testing/suites/checks.ts'
import { bytesOf, paths, text } from '../../src/testing/suites/content/trial.ts'
import { contentSuite } from '../../src/testing/suites/content-suite.ts'
import { followGlobalTime } from '../support/global-time.ts'
import { scriptPath } from '../support/scripts.ts'
import { smallDisk } from './small-disk.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tabularium-content-'))
})
afterEach(() => rm(directory, { recursive: true }))

contentSuite({ describe, test }, () => ({ open: () => fileContent(join(directory, 'not', 'made', 'yet')) }), {
  name: 'the file content',
  durable: true,
})

test('an object is a file that anything can read', async () => {
  await fileContent(directory).put('tables/x/data.arrow', bytesOf('rows'))
  expect(await readFile(join(directory, 'tables/x/data.arrow'), 'utf8')).toBe('rows')
})

test('any part of a large object is what lies there', async () => {
  const content = fileContent(directory)
  const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => (i * 7 + (i >> 8)) & 255)
  await content.put('large', bytes)
  for (const start of [0, 1, 8, 4095, 4096, 4097, 150_000, 299_999, 300_000]) {
    for (const end of [
      start,
      start + 1,
      start + 131_072,
      start + 131_073,
      start + 200_000,
      299_999,
      400_000,
    ]) {
      const part = await content.get('large', { start, end })
      expect(Buffer.compare(part!, bytes.subarray(start, Math.max(start, end)))).toBe(0)
    }
  }
  expect(Buffer.compare((await content.get('large'))!, bytes)).toBe(0)
})

test('parts of an object that are read at once are those that are read one by one', async () => {
  const content = fileContent(directory)
  const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => (i * 7 + (i >> 8)) & 255)
  await content.put('large', bytes)
  const start = fc.nat(310_000)
  const length = fc.oneof(fc.nat(40), fc.nat(5_000), fc.nat(200_000))
  const range = fc.tuple(start, length).map(([start, length]) => ({ start, end: start + length }))
  await fc.assert(
    fc.asyncProperty(fc.array(range, { maxLength: 300 }), async (ranges) => {
      const found = await content.getRanges!('large', ranges)
      expect(found).toHaveLength(ranges.length)
      for (const [i, { start, end }] of ranges.entries()) {
        expect(Buffer.compare(found[i]!, bytes.subarray(start, end))).toBe(0)
        expect(found[i]!.byteOffset % 8).toBe(0)
      }
    }),
    { numRuns: 50 },
  )
  expect(await content.getRanges!('absent', [{ start: 0, end: 5 }])).toEqual([undefined])
  await symlink('/etc/passwd', join(directory, 'led out'))
  await refused(Promise.resolve(content.getRanges!('led out', [{ start: 0, end: 5 }])), 'PermissionDenied')
})

test('reading makes nothing', async () => {
  const content = fileContent(join(directory, 'none'))
  await content.get('a/b')
  await paths(content, '')
  await content.remove('a/')
  expect(await readdir(directory)).toEqual([])
})

test('a folder that was removed by somebody else is made again', async () => {
  const content = fileContent(directory)
  await content.put('a/b/1', bytesOf('1'))
  await rm(join(directory, 'a'), { recursive: true })
  await content.put('a/b/2', bytesOf('2'))
  expect(await paths(content, '')).toEqual(['a/b/2'])
})

test('an object in the place of a folder is refused, and so is a folder in the place of an object', async () => {
  const content = fileContent(directory)
  await content.put('a/b', bytesOf('x'))
  await refused(content.put('a', bytesOf('y')), 'ConcurrentModification')
  await refused(content.put('a/b/c', bytesOf('y')), 'ConcurrentModification')
  expect(await paths(content, '')).toEqual(['a/b'])
})

test('a name the file system cannot hold is refused', async () => {
  const content = fileContent(directory)
  await refused(content.put('x'.repeat(300), bytesOf('x')), 'InvalidInput')
  await refused(content.put(`${'x'.repeat(300)}/y`, bytesOf('x')), 'InvalidInput')
  expect(await paths(content, '')).toEqual([])
})

describe('symbolic links', () => {
  test('the root may be one, and lead elsewhere later', async () => {
    const root = join(directory, 'root')
    for (const name of ['one', 'two']) await mkdir(join(directory, name))
    await symlink(join(directory, 'one'), root)
    const content = fileContent(root)
    await content.put('folder/x', bytesOf('1'))
    expect(await text(content, 'folder/x')).toBe('1')
    await rm(root)
    await symlink(join(directory, 'two'), root)
    await mkdir(join(directory, 'two', 'other'))
    await writeFile(join(directory, 'two', 'other', 'y'), '2')
    expect(await text(content, 'other/y')).toBe('2')
    await content.put('more/z', bytesOf('3'))
    expect(await readFile(join(directory, 'two', 'more', 'z'), 'utf8')).toBe('3')
  })

  test('do not lead out', async () => {
    const outside = join(directory, 'outside')
    const root = join(directory, 'root')
    await mkdir(outside)
    await mkdir(root)
    await writeFile(join(outside, 'secret'), 'secret')
    await symlink(outside, join(root, 'folder'))
    await symlink(join(outside, 'secret'), join(root, 'file'))
    const content = fileContent(root)
    for (const path of ['folder/secret', 'file']) await refused(content.get(path), 'PermissionDenied')
    await refused(paths(content, 'folder/'), 'PermissionDenied')
    for (const path of ['folder/new', 'folder/deep/new']) {
      await refused(content.put(path, bytesOf('x')), 'PermissionDenied')
    }
    await refused(content.remove('folder/secret'), 'PermissionDenied')
    await refused(content.remove('folder/deep/'), 'PermissionDenied')
    expect(await paths(content, '')).toEqual([])
    // A link itself may go; what it leads to stays.
    await content.remove('folder/')
    await content.remove('file')
    expect(await readdir(root)).toEqual([])
    expect(await readdir(outside)).toEqual(['secret'])
  })

  test('do not lead out where a file or folder was before', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    followGlobalTime()
    try {
      const outside = join(directory, 'outside')
      const root = join(directory, 'root')
      const content = fileContent(root)
      await content.put('folder/x', bytesOf('x'))
      await content.put('folder/y', bytesOf('y'))
      expect(await text(content, 'folder/x')).toBe('x')
      await rename(join(root, 'folder'), outside)
      expect(await content.get('folder/x')).toBeUndefined()
      await mkdir(join(root, 'folder'))
      await symlink(join(outside, 'x'), join(root, 'folder', 'x'))
      await refused(content.get('folder/x'), 'PermissionDenied')
      await rename(join(root, 'folder'), join(directory, 'other'))
      await symlink(outside, join(root, 'folder'))
      // What was found of a folder is believed for a second.
      vi.advanceTimersByTime(1_001)
      await refused(content.get('folder/y'), 'PermissionDenied')
      await refused(content.put('folder/z', bytesOf('z')), 'PermissionDenied')
      expect((await readdir(outside)).sort()).toEqual(['x', 'y'])
    } finally {
      vi.useRealTimers()
    }
  })

  test('may stand for the root and may lead from one place in it to another', async () => {
    await mkdir(join(directory, 'real', 'a'), { recursive: true })
    await symlink(join(directory, 'real'), join(directory, 'link'))
    await symlink(join(directory, 'real', 'a'), join(directory, 'real', 'b'))
    const content = fileContent(join(directory, 'link'))
    await content.put('b/x', bytesOf('x'))
    expect(await text(content, 'a/x')).toBe('x')
    expect(await text(content, 'b/x')).toBe('x')
    expect(await paths(content, '')).toEqual(['a/x'])
  })
})

test('a full disk refuses the object, keeps no part of it and goes on', async (ctx) => {
  const disk = smallDisk(2 << 20)
  if ('reason' in disk) return ctx.skip(disk.reason)
  try {
    const content = fileContent(join(disk.path, 'content'))
    await content.put('small', new Uint8Array(300_000).fill(1))
    const error = await refused(content.put('deep/large', new Uint8Array(2_000_000)), 'ServiceUnavailable')
    expect(error.message).toMatch(/the disk is full and nothing was kept\. Free some space/)
    expect((error.cause as NodeJS.ErrnoException).code).toBe('ENOSPC')
    expect(await paths(content, '')).toEqual(['small'])
    expect((await content.get('small'))!.every((byte) => byte === 1)).toBe(true)
    await content.remove('small')
    await content.put('deep/large', new Uint8Array(900_000))
    expect(await paths(content, '')).toEqual(['deep/large'])
  } finally {
    disk.unmount()
  }
})

test('a process that is killed while it puts leaves whole objects, and the rest can be found', async () => {
  const child = scriptPath('test/contents/children/put-objects.ts')
  const size = 3_000_000
  const acknowledged: string[] = []
  for (let round = 0; round < 3; round++) {
    const process_ = spawn(process.execPath, [child, directory, `r${round}`, `${size}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    process_.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
    await once(process_.stdout, 'data')
    await new Promise((resolve) => setTimeout(resolve, 15 + round * 20))
    process_.kill('SIGKILL')
    await once(process_, 'close')
    acknowledged.push(...output.split('\n').slice(0, -1))
  }
  const content = fileContent(directory)
  const found = await paths(content, '')
  const partial = found.filter((path) => path.endsWith('.partial'))
  const whole = found.filter((path) => !path.endsWith('.partial'))
  expect(acknowledged.length).toBeGreaterThan(0)
  expect(whole).toEqual(expect.arrayContaining(acknowledged))
  for (const path of whole) expect(await content.get(path)).toHaveLength(size)
  for (const path of partial) await content.remove(path)
  expect(await paths(content, '')).toEqual(whole)
})

test.skipIf(process.platform === 'win32')('a pipe is no object, and keeps nobody waiting', async () => {
  execFileSync('mkfifo', [join(directory, 'pipe')])
  const content = fileContent(directory)
  expect(await content.get('pipe')).toBeUndefined()
  expect(await content.getRanges!('pipe', [{ start: 0, end: 1 }])).toEqual([undefined])
})
