import assert from 'node:assert/strict'
import type { Content } from '../../src/content/content.ts'
import { CatalogError, type ErrorCode } from '../../src/errors.ts'

export interface ContentSuiteOptions {
  /** Registers a test, as the `test` of any test runner does. */
  readonly test: (name: string, body: () => Promise<void>) => void
  /** An empty content, and how to do away with it. */
  readonly content: () => Promise<{ readonly content: Content; dispose?(): Promise<void> }>
}

/** Registers the tests every content must pass. */
export function testContent({ test, content: make }: ContentSuiteOptions): void {
  const check = (name: string, body: (content: Content) => Promise<void>) =>
    test(name, async () => {
      const { content, dispose } = await make()
      try {
        await body(content)
      } finally {
        await dispose?.()
      }
    })

  check('an empty content holds nothing', async (content) => {
    assert.equal(await content.get('a'), undefined)
    assert.equal(await content.get('a/b', { start: 0, end: 1 }), undefined)
    assert.deepEqual(await paths(content, ''), [])
    assert.deepEqual(await paths(content, 'a/'), [])
    await content.remove('a')
    await content.remove('a/')
  })

  check('an object comes back as it was put', async (content) => {
    await content.put('a/b/c.arrow', bytesOf('hello'))
    await content.put('parts', [bytesOf('one '), new Uint8Array(0), bytesOf('two')])
    await content.put('empty', new Uint8Array(0))
    await content.put('none', [])
    assert.equal(await text(content, 'a/b/c.arrow'), 'hello')
    assert.equal(await text(content, 'parts'), 'one two')
    assert.equal(await text(content, 'empty'), '')
    assert.equal(await text(content, 'none'), '')
    assert.equal(await content.get('a/b'), undefined)
    assert.equal(await content.get('a/b/c.arrow/d'), undefined)
  })

  check('a range is cut to what there is', async (content) => {
    await content.put('a', bytesOf('0123456789'))
    const cases: [number, number, string][] = [
      [0, 10, '0123456789'],
      [3, 5, '34'],
      [0, 0, ''],
      [9, 10, '9'],
      [5, 100, '56789'],
      [10, 20, ''],
      [50, 60, ''],
      [6, 2, ''],
    ]
    for (const [start, end, expected] of cases)
      assert.equal(await text(content, 'a', { start, end }), expected)
  })

  check('a large object of many parts comes back whole', async (content) => {
    const parts = Array.from({ length: 300 }, (_, i) =>
      new Uint8Array(i % 50 === 0 ? 1_500_000 : 700).fill(i),
    )
    const whole = Buffer.concat(parts)
    await content.put('large', parts)
    assert.ok(whole.equals((await content.get('large'))!))
    const [start, end] = [1_400_000, 3_000_001]
    assert.ok(whole.subarray(start, end).equals((await content.get('large', { start, end }))!))
  })

  check('the caller may go on using the bytes it put', async (content) => {
    const bytes = bytesOf('before')
    await content.put('a', bytes)
    bytes.fill(0)
    assert.equal(await text(content, 'a'), 'before')
  })

  check('a path that is taken is refused and keeps its object', async (content) => {
    await content.put('a', bytesOf('first'))
    await refused(content.put('a', bytesOf('second')), 'ConcurrentModification')
    assert.equal(await text(content, 'a'), 'first')
    assert.deepEqual(await paths(content, ''), ['a'])
  })

  check('of many who put the same path one wins', async (content) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => content.put('deep/new/folder/x', bytesOf(`writer ${i}`))),
    )
    const winners = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []))
    assert.equal(winners.length, 1)
    assert.equal(await text(content, 'deep/new/folder/x'), `writer ${winners[0]}`)
    assert.deepEqual(await paths(content, ''), ['deep/new/folder/x'])
  })

  check('many may put at the same time', async (content) => {
    const names = Array.from({ length: 60 }, (_, i) => `t${i % 7}/n${i % 3}/o${i}`)
    await Promise.all(names.map((name) => content.put(name, bytesOf(name))))
    assert.deepEqual(await paths(content, ''), names.toSorted())
    for (const name of names) assert.equal(await text(content, name), name)
  })

  check('a listing holds what begins with its prefix', async (content) => {
    for (const name of ['a/1', 'a/b/2', 'ab/3', 'a.4', '5']) await content.put(name, bytesOf(name))
    assert.deepEqual(await paths(content, ''), ['5', 'a.4', 'a/1', 'a/b/2', 'ab/3'])
    assert.deepEqual(await paths(content, 'a/'), ['a/1', 'a/b/2'])
    assert.deepEqual(await paths(content, 'a/b/'), ['a/b/2'])
    assert.deepEqual(await paths(content, 'c/'), [])
    for await (const { path, size, modified } of content.list('')) {
      assert.equal(size, path.length)
      assert.ok(Math.abs(Date.now() - modified) < 60_000)
    }
  })

  check('what is removed is gone, and its path is free again', async (content) => {
    for (const name of ['a/1', 'a/b/2', 'ab/3']) await content.put(name, bytesOf(name))
    await content.remove('a/1')
    await content.remove('a')
    assert.deepEqual(await paths(content, ''), ['a/b/2', 'ab/3'])
    await content.put('a/1', bytesOf('again'))
    assert.equal(await text(content, 'a/1'), 'again')
    await content.remove('a/')
    assert.deepEqual(await paths(content, ''), ['ab/3'])
    await content.remove('ab/3/')
    assert.deepEqual(await paths(content, ''), ['ab/3'])
    await content.put('a/b/2', bytesOf('back'))
    assert.equal(await text(content, 'a/b/2'), 'back')
  })

  check('unusual names are names', async (content) => {
    const names = [
      '__proto__',
      'constructor/…',
      '.hidden',
      'with space',
      '😀/é',
      'a%2Fb',
      '..a',
      'a..',
      'q?x#y',
    ]
    for (const name of names) await content.put(name, bytesOf(name))
    assert.deepEqual(await paths(content, ''), names.toSorted())
    for (const name of names) assert.equal(await text(content, name), name)
  })

  check('a path that could lead elsewhere is refused', async (content) => {
    for (const path of [
      '',
      '/',
      '/a',
      'a//b',
      '..',
      '../a',
      'a/../b',
      'a/..',
      '.',
      './a',
      'a/./b',
      'a\0b',
      '/etc/passwd',
    ]) {
      await refused(content.put(path, bytesOf('x')), 'InvalidInput')
      await refused(content.get(path), 'InvalidInput')
      await refused(content.remove(path), 'InvalidInput')
      if (path !== '') await refused(paths(content, `${path}/`), 'InvalidInput')
    }
    await refused(content.put('a/', bytesOf('x')), 'InvalidInput')
    await refused(content.get('a/'), 'InvalidInput')
    await refused(paths(content, 'a'), 'InvalidInput')
    await refused(content.remove('../'), 'InvalidInput')
    assert.deepEqual(await paths(content, ''), [])
  })
}

export function bytesOf(value: string): Uint8Array {
  return new TextEncoder().encode(value)
}

export async function text(
  content: Content,
  path: string,
  range?: { start: number; end: number },
): Promise<string> {
  const bytes = await content.get(path, range)
  assert.ok(bytes, `there is nothing at ${path}`)
  return new TextDecoder().decode(bytes)
}

export async function paths(content: Content, prefix: string): Promise<string[]> {
  const found: string[] = []
  for await (const { path } of content.list(prefix)) found.push(path)
  return found.sort()
}

export async function refused(attempt: Promise<unknown>, code: ErrorCode): Promise<CatalogError> {
  const error = await attempt.then(
    () => assert.fail(`was not refused with ${code}`),
    (cause: unknown) => cause,
  )
  if (!(error instanceof CatalogError)) throw error
  assert.equal(error.code, code, error.message)
  return error
}
