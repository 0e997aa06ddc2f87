import assert from 'node:assert/strict'
import { during, refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { bytesOf, type ContentTrial, paths, text } from './trial.ts'

export const lasting: Topic<ContentTrial> = {
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
