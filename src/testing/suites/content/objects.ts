import assert from 'node:assert/strict'
import { rule, type Topic } from '../suite.ts'
import { bytesOf, type ContentTrial, paths, text } from './trial.ts'

export const objects: Topic<ContentTrial> = {
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
        assert.ok(whole.equals((await content.get('large'))!))
        const [start, end] = [1_400_000, 3_000_001]
        assert.ok(whole.subarray(start, end).equals((await content.get('large', { start, end }))!))
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
