import assert from 'node:assert/strict'
import type { Content } from '../../base/content/content.ts'
import { during, refused } from './checks.ts'
import { pathRules } from './content/paths.ts'
import type { ContentPlace } from './content/trial.ts'
import { bytesOf, type ContentTrial, paths, text } from './content/trial.ts'
import { type Runner, register, rule, type Topic } from './suite.ts'

const objects: Topic<ContentTrial> = {
  name: 'objects',
  cases: [
    rule(
      'content.empty',
      'Content',
      'An empty content holds nothing, and removing from it does nothing.',
      [],
      async ({ content }: ContentTrial) => {
        assert.equal(await content.get('a'), undefined)
        assert.equal(await content.get('a/b', { start: 0, end: 1 }), undefined)
        assert.deepEqual(await paths(content, ''), [])
        assert.deepEqual(await paths(content, 'a/'), [])
        await content.remove('a')
        await content.remove('a/')
      },
    ),

    rule(
      'content.object',
      'Content.put',
      'An object comes back as it was put, in one piece or several.',
      [],
      async ({ content }: ContentTrial) => {
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
      },
    ),

    rule(
      'content.group',
      'Content.group',
      'Objects of a group are like others: whole at once, and refused where a path is taken. A group may sync again.',
      [],
      async ({ content }: ContentTrial) => {
        const group = content.group?.()
        if (group === undefined) return
        await content.put('before', bytesOf('before'))
        await Promise.all(['a/1', 'a/2', 'b/1'].map((path) => group.put(path, bytesOf(path))))
        await group.put('parts', [bytesOf('one '), bytesOf('two')])
        assert.deepEqual(await paths(content, ''), ['a/1', 'a/2', 'b/1', 'before', 'parts'])
        assert.equal(await text(content, 'parts'), 'one two')
        await refused(group.put('before', bytesOf('again')), 'ConcurrentModification')
        await refused(group.put('a/1', bytesOf('again')), 'ConcurrentModification')
        await Promise.all([group.sync(), group.sync()])
        await group.put('c', bytesOf('c'))
        await group.sync()
        for (const path of ['a/1', 'a/2', 'b/1', 'before', 'c']) assert.equal(await text(content, path), path)
      },
    ),

    rule(
      'content.range',
      'Content.get',
      'A range of bytes is cut to what there is.',
      [],
      async ({ content }: ContentTrial) => {
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
      },
    ),

    rule(
      'content.large',
      'Content.put',
      'A large object of many parts comes back whole.',
      [],
      async ({ content }: ContentTrial) => {
        const parts = Array.from({ length: 300 }, (_, i) =>
          new Uint8Array(i % 50 === 0 ? 1_500_000 : 700).fill(i),
        )
        const whole = Buffer.concat(parts)
        await content.put('large', parts)
        assert.equal(Buffer.compare(whole, (await content.get('large'))!), 0)
        const [start, end] = [1_400_000, 3_000_001]
        assert.equal(
          Buffer.compare(whole.subarray(start, end), (await content.get('large', { start, end }))!),
          0,
        )
      },
    ),

    rule(
      'content.own-bytes',
      'Content.put',
      'The caller may go on using the bytes it put.',
      [],
      async ({ content }: ContentTrial) => {
        const bytes = bytesOf('before')
        await content.put('a', bytes)
        bytes.fill(0)
        assert.equal(await text(content, 'a'), 'before')
      },
    ),
  ],
}

const lasting: Topic<ContentTrial> = {
  name: 'what lasts',
  cases: [
    rule(
      'content.reopened',
      'Content.put',
      'A durable content that is opened again has all objects; any other begins whole, or empty.',
      [],
      async ({ content, place, durable }: ContentTrial) => {
        for (let i = 0; i < 20; i++) await content.put(`t/${i % 3}/${i}`, bytesOf(`object ${i}`))
        await content.remove('t/1/4')
        const before = await paths(content, '')
        const again = await place.open()
        const found = await paths(again, '')
        if (!durable && found.length === 0) return
        assert.deepEqual(found, before)
        for (const path of found) {
          assert.equal(await text(again, path), await text(content, path))
          await refused(again.put(path, bytesOf('other')), 'ConcurrentModification')
        }
      },
    ),
    rule(
      'content.whole',
      'Content.put',
      'Before a put resolves nobody sees any of the object; from then on everybody sees all of it.',
      [],
      async ({ content }: ContentTrial) => {
        const parts = Array.from({ length: 40 }, (_, i) => new Uint8Array(50_000).fill(i))
        let done = false
        const put = async () => {
          await content.put('t/object', parts)
          done = true
        }
        await during(put, async () => {
          const before = done
          const bytes = await content.get('t/object')
          if (before) assert.ok(bytes, 'It was put, and is not there.')
          if (bytes) assert.equal(bytes.length, 2_000_000)
          // A listing may show unfinished objects under other names, so that they can be removed.
          for await (const { path, size } of content.list('t/')) {
            if (path === 't/object') assert.equal(size, 2_000_000)
          }
        })
        assert.equal((await content.get('t/object'))?.length, 2_000_000)
      },
    ),
  ],
}

export interface ContentSuiteOptions {
  /** The name of the group of cases. Default: `the content`. */
  readonly name?: string
  /** Whether objects must still exist when the place is opened again. Default: false. */
  readonly durable?: boolean
}

export const contentTopics = [objects, pathRules, lasting] as const

/**
 * Registers the cases that every {@link Content} must pass. Each case opens an empty content in its own place.
 *
 * ```ts
 * contentSuite({ describe, test }, () => ({ open: () => myContent() }), { durable: true })
 * ```
 */
export function contentSuite(
  runner: Runner,
  place: () => ContentPlace | Promise<ContentPlace>,
  options: ContentSuiteOptions = {},
): void {
  const { name = 'the content', durable = false } = options
  register<ContentTrial>(runner, name, contentTopics, async (body) => {
    const own = await place()
    try {
      await body({ content: await own.open(), place: own, durable })
    } finally {
      await own.dispose?.()
    }
  })
}
