import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { bucketContent } from '../../../src/contents/bucket/index.ts'
import { cachedContent, openContentCache, readCachedUrl } from '../../../src/contents/cache/index.ts'
import { fileContent } from '../../../src/contents/files/index.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { refused } from '../../../src/testing/suites/checks.ts'
import { paths } from '../../../src/testing/suites/content/trial.ts'
import { scriptPath } from '../../support/scripts.ts'
import { MemoryBucket } from '../bucket/memory-bucket.ts'
import { smallDisk } from '../small-disk.ts'

const MiB = 1 << 20
const folders: string[] = []
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'content-cache-'))
  folders.push(folder)
  return folder
}

async function opened(bucket: MemoryBucket, folder: string, { bytes = 64 * MiB, owner = 'me' } = {}) {
  return cachedContent(bucketContent(bucket, { prefix: '', url: 'x://y' }), { folder, bytes, owner })
}

/** The files of a cache. */
async function filesIn(folder: string): Promise<string[]> {
  const all = await readdir(folder, { recursive: true, withFileTypes: true })
  return all.filter((item) => item.isFile()).map((item) => join(item.parentPath, item.name))
}

async function sizeOf(folder: string): Promise<number> {
  const sizes = await Promise.all((await filesIn(folder)).map(async (file) => (await stat(file)).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

const object = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 7 + (i >> 8)) & 255)
/** Compares bytes as fast as they are copied. */
function same(found: readonly (Uint8Array | undefined)[], wanted: readonly Uint8Array[]): void {
  expect(found.map((bytes, i) => Buffer.compare(bytes!, wanted[i]!))).toEqual(wanted.map(() => 0))
}

const ranges = [
  { start: 0, end: 10 },
  { start: 1000, end: 50_000 },
  { start: 60_000, end: 99_999 },
]

describe('a content with a cache on local disk', () => {
  test('reads each part of an object once, also after it was opened again and by its neighbours', async () => {
    const bucket = new MemoryBucket()
    const folder = await freshFolder()
    const content = await opened(bucket, folder)
    await content.put('o', object)
    for (const range of ranges.slice(0, 2)) {
      same([(await content.get('o', range))!], [object.slice(range.start, range.end)])
    }
    same([(await content.get('o'))!], [object])
    await content.idle()
    expect(bucket.reads).toHaveLength(3)
    for (const reader of [content, await opened(bucket, folder)]) {
      const found = await reader.getRanges('o', ranges.slice(0, 2))
      same(
        found,
        ranges.slice(0, 2).map(({ start, end }) => object.slice(start, end)),
      )
      same([(await reader.get('o'))!], [object])
    }
    expect(bucket.reads).toHaveLength(3)
    // Only what is missing is asked for.
    same([(await content.getRanges('o', ranges))[2]], [object.slice(60_000, 99_999)])
    expect(bucket.reads.slice(3)).toEqual(['o 60000-99999'])
  })

  test('keeps nothing of what is not there, and nothing of other catalogs', async () => {
    const bucket = new MemoryBucket()
    const folder = await freshFolder()
    const content = await opened(bucket, folder)
    expect(await content.get('o')).toBeUndefined()
    expect(await content.getRanges('o', ranges)).toEqual([undefined, undefined, undefined])
    await content.put('o', object)
    same([(await content.get('o'))!], [object])
    const other = new MemoryBucket()
    await bucketContent(other, { prefix: '' }).put('o', object.slice(0, 5))
    expect(await (await opened(other, folder, { owner: 'you' })).get('o')).toHaveLength(5)
  })

  test('reads past its files on request, and forgets what it kept', async () => {
    const bucket = new MemoryBucket()
    const folder = await freshFolder()
    const content = await opened(bucket, folder)
    await content.put('o', object)
    await content.get('o')
    await content.idle()
    const files = await filesIn(folder)
    expect(files).toHaveLength(1)
    same([(await content.uncached.get('o'))!], [object])
    expect(await filesIn(folder)).toEqual([])
    expect(bucket.reads).toHaveLength(2)
  })

  test('believes no file that is cut, damaged, or under the name of another one', async () => {
    const bucket = new MemoryBucket()
    const folder = await freshFolder()
    const content = await opened(bucket, folder)
    await content.put('o', object)
    const read = async () => {
      same(
        await content.getRanges('o', ranges),
        ranges.map(({ start, end }) => object.slice(start, end)),
      )
      await content.idle()
    }
    await read()
    const damage = fc.oneof(
      fc.record({ kind: fc.constant('cut' as const), at: fc.double({ min: 0, max: 0.99, noNaN: true }) }),
      fc.record({ kind: fc.constant('flip' as const), at: fc.double({ min: 0, max: 0.999, noNaN: true }) }),
      fc.record({ kind: fc.constant('add' as const), at: fc.constant(0) }),
      fc.record({ kind: fc.constant('swap' as const), at: fc.constant(0) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.nat(2), damage, async (which, { kind, at }) => {
        const files = (await filesIn(folder)).sort()
        expect(files).toHaveLength(3)
        const file = files[which]!
        const before = bucket.reads.length
        if (kind === 'swap') {
          await rename(files[(which + 1) % 3]!, `${folder}/aside`)
          await rename(file, files[(which + 1) % 3]!)
          await rename(`${folder}/aside`, file)
        } else {
          const bytes = await readFile(file)
          const place = Math.floor(at * bytes.length)
          if (kind === 'flip') bytes[place]! ^= 4
          const left = kind === 'cut' ? bytes.subarray(0, place) : bytes
          await writeFile(file, kind === 'add' ? Buffer.concat([left, Buffer.from('x')]) : left)
        }
        await read()
        // What was not believed was asked for again, and is kept again.
        expect(bucket.reads.length).toBeGreaterThan(before)
        const after = bucket.reads.length
        await read()
        expect(bucket.reads).toHaveLength(after)
      }),
      { numRuns: 40 },
    )
  })

  test('heals where the network damaged what it keeps', async () => {
    const bucket = new MemoryBucket()
    const folder = await freshFolder()
    const content = bucketContent(bucket, { prefix: '', url: 'x://y' })
    const store = memoryStore()
    const open = () =>
      openCatalog({ store, content, root: 'x://y', contentCache: { folder }, cacheBytes: 0, threads: 0 })
    const catalog = await open()
    await catalog.createTable({ id: ['t'], data: Array.from({ length: 100 }, (_, x) => ({ x })) })
    let left = 1
    bucket.passing = (bytes) => {
      if (left > 0 && bytes.length > 300) bytes[bytes.length >> 1]! ^= left--
      return bytes
    }
    for (let times = 0; times < 4; times++) {
      expect(await catalog.countTableRows({ id: ['t'], predicate: 'x < 10' })).toEqual({ count: 10 })
    }
    expect(left).toBe(0)
  })
})

describe('the folder of a cache', () => {
  test('holds at most so many bytes, whoever writes; what was not used for longest goes first', async () => {
    const bucket = new MemoryBucket()
    const folder = await freshFolder()
    const put = bucketContent(bucket, { prefix: '' })
    for (let i = 0; i < 300; i++) await put.put(`o${i}`, object.subarray(i, i + 20_000))
    const bytes = 2 * MiB
    const writers = await Promise.all(Array.from({ length: 8 }, () => opened(bucket, folder, { bytes })))
    const most: number[] = []
    for (let i = 0; i < 296; i += 8) {
      await Promise.all(writers.map((writer, w) => writer.get(`o${(i + w) % 300}`)))
      await Promise.all(writers.map((writer) => writer.idle()))
      most.push(await sizeOf(folder))
      // One of them is used again and again, and stays. Files tell the time by the millisecond, and it by the minute.
      const files = await filesIn(folder)
      const ages = await Promise.all(files.map(async (file) => ({ file, used: (await stat(file)).mtimeMs })))
      for (const { file, used } of ages)
        await utimes(file, new Date(used - 120_000), new Date(used - 120_000))
      const reader = await opened(bucket, folder, { bytes })
      await reader.get('o0')
      await reader.idle()
    }
    expect(Math.max(...most)).toBeLessThanOrEqual(bytes)
    expect(Math.max(...most)).toBeGreaterThan(bytes / 2)
    expect(bucket.reads.filter((read) => read === 'o0')).toHaveLength(1)
    expect(bucket.reads.filter((read) => read === 'o1')).toHaveLength(1)
    await writers[0]!.get('o1')
    expect(bucket.reads.filter((read) => read === 'o1')).toHaveLength(2)
    // A smaller cache makes room when it is opened.
    const smaller = await opened(bucket, folder, { bytes: MiB })
    await smaller.idle()
    expect(await sizeOf(folder)).toBeLessThanOrEqual(MiB)
    // One object does not drive out all others.
    await put.put('large', new Uint8Array(MiB / 2))
    await smaller.get('large')
    await smaller.idle()
    expect(await sizeOf(folder)).toBeGreaterThan(MiB / 2)
  })

  test('that is full, or gone, only turns the cache off', async (context) => {
    const disk = smallDisk(200_000)
    if ('reason' in disk) return context.skip(disk.reason)
    try {
      const bucket = new MemoryBucket()
      const content = await opened(bucket, disk.path)
      for (let i = 0; i < 10; i++) await content.put(`o${i}`, object)
      for (let times = 0; times < 2; times++) {
        for (let i = 0; i < 10; i++) same([(await content.get(`o${i}`))!], [object])
        await content.idle()
      }
      // Something fits. The rest is read again, and no unfinished file stays.
      expect(bucket.reads.length).toBeGreaterThan(10)
      expect(bucket.reads.length).toBeLessThan(20)
      const files = await filesIn(disk.path)
      expect(files.length).toBeGreaterThan(0)
      expect(files.filter((file) => file.endsWith('.partial'))).toEqual([])
      await rm(join(disk.path, 'tabularium-1'), { recursive: true })
      for (let i = 0; i < 10; i++) same([(await content.get(`o${i}`))!], [object])
      await content.idle()
    } finally {
      disk.unmount()
    }
  })

  test.skipIf(process.platform === 'win32')('is private, and refused where others can write', async () => {
    const folder = join(await freshFolder(), 'a', 'b')
    const bucket = new MemoryBucket()
    const content = await opened(bucket, folder)
    await content.put('o', object)
    await content.get('o')
    await content.idle()
    expect((await stat(join(folder, 'tabularium-1'))).mode & 0o777).toBe(0o700)
    for (const file of await filesIn(folder)) expect((await stat(file)).mode & 0o777).toBe(0o600)

    const parent = await freshFolder()
    await mkdir(join(parent, 'cache'))
    const open = (path: string) => openContentCache({ folder: path }, 'me')
    await chmod(parent, 0o777)
    const error = await refused(open(join(parent, 'cache')), 'InvalidInput')
    expect(error.message).toMatch(/content-cache-\w+" is open to other users\. Give a folder.*chmod go-w/)
    const link = join(await freshFolder(), 'link')
    await symlink(join(parent, 'cache'), link)
    await refused(open(link), 'InvalidInput')
    await chmod(parent, 0o1777)
    await open(join(parent, 'cache'))
    await chmod(join(parent, 'cache', 'tabularium-1'), 0o755)
    await refused(open(join(parent, 'cache')), 'InvalidInput')
    await chmod(join(parent, 'cache', 'tabularium-1'), 0o700)
    if (process.getuid!() === 0) {
      await chown(join(parent, 'cache'), 12345, 12345)
      const error = await refused(open(join(parent, 'cache')), 'InvalidInput')
      expect(error.message).toContain('belongs to another user')
    }
    await writeFile(join(parent, 'file'), '')
    const cannot = await refused(open(join(parent, 'file')), 'InvalidInput')
    expect(cannot.message).toMatch(/cannot be used: .*Give a folder that this process may write/)
  })

  test('of processes that were killed holds nothing that is believed wrongly', async () => {
    const folder = await freshFolder()
    for (let round = 0; round < 3; round++) {
      const script = scriptPath('test/contents/cache/children/fill-cache.ts')
      const child = spawn(process.execPath, [script, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = once(child, 'exit')
      for await (const line of createInterface(child.stdout)) if (Number(line) > 40 + 7 * round) break
      child.kill('SIGKILL')
      await ended
      const bucket = new MemoryBucket()
      const content = await opened(bucket, folder)
      for (let i = 0; i < 50; i++) {
        await content.put(`o${i}`, object.subarray(i, i + 50_000))
        same([(await content.get(`o${i}`))!], [object.slice(i, i + 50_000)])
      }
      await content.idle()
      expect(bucket.reads.length).toBeLessThan(50)
    }
    // Unfinished files go when nobody can be at work on them any more.
    const files = await filesIn(folder)
    const partial = join(files[0]!, `../.${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}.partial`)
    await writeFile(partial, 'x')
    await (await opened(new MemoryBucket(), folder)).idle()
    expect(await filesIn(folder)).toContain(partial)
    await utimes(partial, new Date(0), new Date(0))
    await (await opened(new MemoryBucket(), folder)).idle()
    expect(await filesIn(folder)).not.toContain(partial)
  })
})

describe('a catalog with a cache', () => {
  test('refuses one that is too small, without folder, or for rows that are nearby', async () => {
    const folder = await freshFolder()
    const content = bucketContent(new MemoryBucket(), { prefix: '' })
    const open = (contentCache: object) =>
      openCatalog({ store: memoryStore(), content, contentCache: contentCache as never })
    expect((await refused(open({ folder, bytes: 5 }), 'InvalidInput')).message).toContain(
      'contentCache.bytes',
    )
    expect((await refused(open({}), 'InvalidInput')).message).toContain('contentCache.folder')
    for (const near of [memoryContent(), fileContent(folder)]) {
      const error = await refused(
        openCatalog({ store: memoryStore(), content: near, contentCache: { folder } }),
        'InvalidInput',
      )
      expect(error.message).toMatch(/has its rows nearby\. Leave the option out\./)
    }
    await refused(openCatalog('memory:', { contentCache: { folder } }), 'InvalidInput')
    // Without the option, nothing is kept.
    await using catalog = await openCatalog({ store: memoryStore(), content })
    await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
    await catalog.countTableRows({ id: ['t'], predicate: 'x = 1' })
    expect(await filesIn(folder)).toEqual([])
  })

  test('reads rows once for all openings, and verifies past the cache', async () => {
    const folder = await freshFolder()
    const bucket = new MemoryBucket()
    const content = bucketContent(bucket, { prefix: '' })
    const store = memoryStore()
    const open = () => openCatalog({ store, content, root: 'x://y', contentCache: { folder }, threads: 0 })
    const count = async () => {
      const catalog = await open()
      return (await catalog.countTableRows({ id: ['t'], predicate: 'x < 10' })).count
    }
    await (await open()).createTable({ id: ['t'], data: Array.from({ length: 100 }, (_, x) => ({ x })) })
    expect(await count()).toBe(10)
    await expect
      .poll(async () => (await filesIn(folder)).filter((file) => !file.endsWith('.partial')))
      .toHaveLength(2)
    const reads = bucket.reads.length
    expect(await count()).toBe(10)
    expect(bucket.reads).toHaveLength(reads)
    // Damage in the bucket does not hide behind the copy.
    const catalog = await open()
    expect(await catalog.verify()).toMatchObject({ ok: true })
    const [fragment] = (await paths(content, 'tables/')).filter((path) => path.includes('/data/'))
    const bytes = (await content.get(fragment!))!.slice()
    bytes[bytes.length >> 1]! ^= 1
    await content.shared!.replace(fragment!, bytes)
    expect(await catalog.verify()).toMatchObject({ ok: false })
  })

  test('describes its content to threads by a URL', async () => {
    const folder = await freshFolder()
    const content = await opened(new MemoryBucket(), folder)
    expect(readCachedUrl(content.url!)).toEqual({
      url: 'x://y',
      cache: { folder, bytes: 64 * MiB, owner: 'me' },
    })
    expect(readCachedUrl('s3://bucket/x')).toBeUndefined()
  })
})
