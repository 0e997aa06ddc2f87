import assert from 'node:assert/strict'
import { CatalogError } from '../../../base/errors.ts'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { all, read, type StoreTrial } from './trial.ts'

export const misuse: Topic<StoreTrial> = {
  name: 'misuse',
  cases: [
    rule(
      'store.ended',
      'Store.read, Store.write',
      'A reader, writer or walk that is used after its transaction is refused as Internal.',
      [],
      async ({ store }: StoreTrial) => {
        await store.write((tx) => tx.put(['a'], 1))
        const reader = await store.read((tx) => ({ tx, walk: tx.range({})[Symbol.iterator]() }))
        const writer = await store.write((tx) => ({ tx, walk: tx.range({})[Symbol.iterator]() }))
        for (const attempt of [
          () => reader.tx.get(['a']),
          () => [...reader.tx.range({})],
          () => reader.walk.next(),
          () => writer.tx.get(['a']),
          () => [...writer.tx.range({})],
          () => writer.walk.next(),
          () => writer.tx.put(['a'], 2),
          () => writer.tx.remove(['a']),
        ]) {
          assert.throws(attempt, (error) => error instanceof CatalogError && error.code === 'Internal')
        }
        assert.deepEqual(await read(store, {}), [1])
      },
    ),

    rule(
      'store.asynchronous',
      'Store.read, Store.write',
      'A body that returns a promise is refused as Internal, and undone.',
      [],
      async ({ store }: StoreTrial) => {
        await refused(
          store.write(async (tx) => tx.put(['a'], 1)),
          'Internal',
        )
        await refused(
          store.write(async () => {
            throw new Error('nobody hears this')
          }),
          'Internal',
        )
        await refused(
          store.read(async (tx) => tx.get(['a'])),
          'Internal',
        )
        assert.deepEqual(await all(store), [])
      },
    ),

    rule(
      'store.nested',
      'Store.read, Store.write',
      'A transaction inside the body of another is refused as Internal; the outer one goes on.',
      [],
      async ({ store }: StoreTrial) => {
        const inner: Promise<unknown>[] = []
        await store.write((tx) => {
          tx.put(['outer'], 1)
          inner.push(store.write((nested) => nested.put(['inner'], 1)).catch((error: unknown) => error))
          inner.push(store.read((nested) => nested.get(['outer'])).catch((error: unknown) => error))
        })
        for (const error of await Promise.all(inner)) {
          assert.ok(error instanceof CatalogError && error.code === 'Internal')
        }
        assert.deepEqual(await all(store), [{ key: ['outer'], value: 1 }])
      },
    ),

    rule(
      'store.after-refusal',
      'Writer.put',
      'A body may go on after a key was refused.',
      [],
      async ({ store }: StoreTrial) => {
        await store.write((tx) => {
          tx.put(['a'], 1)
          assert.throws(() => tx.put([''.padEnd(5000, 'x')], 1))
          tx.put(['b'], 2)
        })
        assert.deepEqual(await read(store, {}), [1, 2])
      },
    ),
  ],
}
