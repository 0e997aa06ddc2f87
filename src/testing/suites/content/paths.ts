import assert from 'node:assert/strict'
import { wallClock } from '../../../base/time.ts'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { bytesOf, type ContentTrial, paths, text } from './trial.ts'

export const pathRules: Topic<ContentTrial> = {
  name: 'paths',
  cases: [
    rule(
      'content.taken',
      'Content.put',
      'A path that is taken is refused as ConcurrentModification and keeps its object.',
      [],
      async ({ content }: ContentTrial) => {
        await content.put('a', bytesOf('first'))
        await refused(content.put('a', bytesOf('second')), 'ConcurrentModification')
        assert.equal(await text(content, 'a'), 'first')
        assert.deepEqual(await paths(content, ''), ['a'])
      },
    ),

    rule(
      'content.one-wins',
      'Content.put',
      'Of many who put the same path at the same time exactly one succeeds.',
      [],
      async ({ content }: ContentTrial) => {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 20 }, (_, i) => content.put('deep/new/folder/x', bytesOf(`writer ${i}`))),
        )
        const winners = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []))
        assert.equal(winners.length, 1)
        assert.equal(await text(content, 'deep/new/folder/x'), `writer ${winners[0]}`)
        assert.deepEqual(await paths(content, ''), ['deep/new/folder/x'])
      },
    ),

    rule(
      'content.many',
      'Content.put',
      'Many may put at the same time.',
      [],
      async ({ content }: ContentTrial) => {
        const names = Array.from({ length: 60 }, (_, i) => `t${i % 7}/n${i % 3}/o${i}`)
        await Promise.all(names.map((name) => content.put(name, bytesOf(name))))
        assert.deepEqual(await paths(content, ''), names.toSorted())
        for (const name of names) assert.equal(await text(content, name), name)
      },
    ),

    rule(
      'content.list',
      'Content.list',
      'A listing holds all objects whose path begins with its prefix, with size and time.',
      [],
      async ({ content }: ContentTrial) => {
        for (const name of ['a/1', 'a/b/2', 'ab/3', 'a.4', '5']) await content.put(name, bytesOf(name))
        assert.deepEqual(await paths(content, ''), ['5', 'a.4', 'a/1', 'a/b/2', 'ab/3'])
        assert.deepEqual(await paths(content, 'a/'), ['a/1', 'a/b/2'])
        assert.deepEqual(await paths(content, 'a/b/'), ['a/b/2'])
        assert.deepEqual(await paths(content, 'c/'), [])
        for await (const { path, size, modified } of content.list('')) {
          assert.equal(size, path.length)
          assert.ok(Math.abs(wallClock() - modified) < 60_000)
        }
      },
    ),

    rule(
      'content.remove',
      'Content.remove',
      'What is removed is gone, and its path is free again; a path that ends in a slash means all below it.',
      [],
      async ({ content }: ContentTrial) => {
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
      },
    ),

    rule(
      'content.names',
      'Content',
      'Unusual names are names like any other.',
      [],
      async ({ content }: ContentTrial) => {
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
      },
    ),

    rule(
      'content.path-refused',
      'Content',
      'A path that is empty, absolute or holds dots, empty segments or NUL is refused as InvalidInput.',
      [],
      async ({ content }: ContentTrial) => {
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
      },
    ),
  ],
}
