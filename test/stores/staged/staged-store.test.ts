import { describe, expect, test } from 'vitest'
import type { Key, Range, Reader, Store, Value } from '../../../src/base/store/store.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { ReadsChanged, type Soften } from '../../../src/stores/staged/read-set.ts'
import { StagedStore } from '../../../src/stores/staged/staged-store.ts'
import { guessingStore } from '../../support/guessing-store.ts'

const put = (store: Store, key: Key, value: Value) => store.write((writer) => writer.put(key, value))
const get = (store: Store, key: Key) => store.read((reader) => reader.get(key))
const list = (store: Store, range: Range, most = Number.POSITIVE_INFINITY) =>
  store.read((reader) => {
    const keys: Key[] = []
    for (const { key } of reader.range(range)) if (keys.push(key) >= most) break
    return keys
  })

/** The store without a state, as a custom store may be. */
function stateless(store: Store): Store {
  return {
    features: store.features,
    read: (body) => store.read(body),
    write: (body) => store.write(body),
    close: () => store.close(),
  }
}

async function commit(below: Store, staged: StagedStore): Promise<ReadonlySet<string>> {
  return below.write((writer) => {
    const moved = staged.check(writer)
    if (moved.size === 0) staged.apply(writer)
    return moved
  })
}

describe.each([
  ['a store that tells its state', () => memoryStore() as Store],
  ['a store that does not', () => stateless(memoryStore())],
  ['a store that guesses first', () => guessingStore()],
])('over %s', (_name, open) => {
  test('a change of what was read fails the next read, and everything after it', async () => {
    const below = open()
    await put(below, ['a'], 1)
    const staged = new StagedStore(below)
    expect(await get(staged, ['a'])).toBe(1)
    await put(below, ['other'], 1)
    expect(await get(staged, ['b'])).toBe(undefined)
    await put(below, ['a'], 2)
    await expect(get(staged, ['c'])).rejects.toBeInstanceOf(ReadsChanged)
    await put(below, ['a'], 1)
    await expect(get(staged, ['a'])).rejects.toBeInstanceOf(ReadsChanged)
    await expect(put(staged, ['d'], 1)).rejects.toBeInstanceOf(ReadsChanged)
  })

  test('a loose read may change, and sees what is staged', async () => {
    const below = open()
    await put(below, ['a'], 1)
    const staged = new StagedStore(below)
    const loose = staged.untrackedReads()
    await put(staged, ['b'], 2)
    expect(await list(loose, {})).toEqual([['a'], ['b']])
    expect(await get(loose, ['a'])).toBe(1)
    await put(below, ['a'], 2)
    await put(below, ['c'], 3)
    expect(await get(loose, ['a'])).toBe(2)
    expect(await list(loose, {})).toEqual([['a'], ['b'], ['c']])
    expect(await commit(below, staged)).toEqual(new Set())
    expect(await get(below, ['b'])).toBe(2)
  })

  test('a write of the same value again is no change', async () => {
    const below = open()
    await put(below, ['a'], { list: [1, { x: 'y' }] })
    const staged = new StagedStore(below)
    await get(staged, ['a'])
    await put(below, ['a'], { list: [1, { x: 'y' }] })
    await put(staged, ['b'], 1)
    expect(await commit(below, staged)).toEqual(new Set())
    expect(await get(below, ['b'])).toBe(1)
  })

  test.each<[string, (below: Store) => Promise<unknown>, boolean]>([
    ['an entry after the end of what was taken', (below) => put(below, ['r', 9], 1), false],
    ['an entry in what was taken', (below) => put(below, ['r', 2], 1), true],
    ['a removed entry', (below) => below.write((writer) => writer.remove(['r', 1])), true],
    ['a changed entry', (below) => put(below, ['r', 3], 'other'), true],
    ['an entry before', (below) => put(below, ['r', 0], 1), true],
  ])('%s of a range of which a part was read', async (_what, change, isConflict) => {
    const below = open()
    for (const n of [1, 3, 5, 7]) await put(below, ['r', n], n)
    const staged = new StagedStore(below)
    expect((await list(staged, { prefix: ['r'] }, 2)).length).toBe(2)
    await put(staged, ['x'], 1)
    await change(below)
    const committed = commit(below, staged)
    if (isConflict) await expect(committed).rejects.toBeInstanceOf(ReadsChanged)
    else expect(await committed).toEqual(new Set())
  })

  test('a range that was read to its end ends there at the commit, too', async () => {
    const below = open()
    await put(below, ['r', 1], 1)
    for (const range of [{ prefix: ['r'] }, { prefix: ['r'], limit: 5 }, { prefix: ['empty'] }]) {
      const staged = new StagedStore(below)
      await list(staged, range)
      await put(staged, ['x'], 1)
      await put(below, [...range.prefix, 8], 1)
      await expect(commit(below, staged)).rejects.toBeInstanceOf(ReadsChanged)
      await below.write((writer) => writer.remove([...range.prefix, 8]))
    }
  })

  test('where only keys are read, only keys are compared', async () => {
    const below = open()
    await put(below, ['r', 1], 1)
    const staged = new StagedStore(below)
    await list(staged, { prefix: ['r'], keysOnly: true })
    await put(staged, ['x'], 1)
    await put(below, ['r', 1], 2)
    expect(await commit(below, staged)).toEqual(new Set())
  })

  const soften: Soften = (key, value) =>
    key[0] === 'soft' ? { group: String(key[1]), kept: (value as { kept: string }).kept } : undefined
  const record = (head: number, kept = 'same') => ({ head, kept })
  const softRead = (key: Key) => (reader: Reader) => reader.get<{ head: number }>(key)?.head

  test('what was only read softly may move, and its changes are made anew', async () => {
    const below = open()
    const key = ['soft', 'a']
    await put(below, key, record(1))
    const staged = new StagedStore(below, { soften })
    const { store } = staged.partialReads()
    expect(await store.read(softRead(key))).toBe(1)
    await put(store, key, record(2))
    await put(below, key, record(7))
    expect(await get(staged, ['hard'])).toBe(undefined)
    expect(await commit(below, staged)).toEqual(new Set(['a']))
    staged.forget(new Set(['a']))
    const again = staged.partialReads()
    expect(await again.store.read(softRead(key))).toBe(7)
    await put(again.store, key, record(8))
    expect(await commit(below, staged)).toEqual(new Set())
    expect(await get(below, key)).toEqual(record(8))
  })

  test('the part that must stay is compared, before and after the changes are made anew', async () => {
    const below = open()
    const key = ['soft', 'a']
    await put(below, key, record(1))
    const staged = new StagedStore(below, { soften })
    await staged.partialReads().store.read(softRead(key))
    await put(staged, ['x'], 1)
    await put(below, key, record(2))
    expect(await commit(below, staged)).toEqual(new Set(['a']))
    staged.forget(new Set(['a']))
    await put(below, key, record(2, 'other'))
    await expect(commit(below, staged)).rejects.toBeInstanceOf(ReadsChanged)
  })

  test.each<[string, (staged: StagedStore, key: Key) => Promise<unknown>]>([
    ['a read', (staged, key) => get(staged, key)],
    ['a listing', (staged) => list(staged, { prefix: ['soft'] })],
    ['a write', (staged, key) => put(staged, key, record(9))],
  ])('%s of a softly changed record makes it matter in full', async (_what, touch) => {
    const below = open()
    const key = ['soft', 'a']
    await put(below, key, record(1))
    const staged = new StagedStore(below, { soften })
    const { store } = staged.partialReads()
    await store.read(softRead(key))
    await put(store, key, record(2))
    await touch(staged, key)
    await put(below, key, record(7))
    await expect(commit(below, staged)).rejects.toBeInstanceOf(ReadsChanged)
  })

  test('a read of a softly changed record that has moved already fails at once', async () => {
    const below = open()
    const key = ['soft', 'a']
    await put(below, key, record(1))
    const staged = new StagedStore(below, { soften })
    const { store } = staged.partialReads()
    await store.read(softRead(key))
    await put(store, key, record(2))
    await put(below, key, record(7))
    await expect(get(staged, key)).rejects.toBeInstanceOf(ReadsChanged)
  })

  test('what failed softly matters in full', async () => {
    const below = open()
    const key = ['soft', 'a']
    await put(below, key, record(1))
    const staged = new StagedStore(below, { soften })
    const { store, harden } = staged.partialReads()
    await store.read(softRead(key))
    harden()
    await put(below, key, record(7))
    await expect(get(staged, ['b'])).rejects.toBeInstanceOf(ReadsChanged)
  })

  test('what failed softly matters as it was read at first', async () => {
    const below = open()
    const key = ['soft', 'a']
    await put(below, key, record(1))
    const staged = new StagedStore(below, { soften })
    const { store, harden } = staged.partialReads()
    await store.read(softRead(key))
    await put(below, key, record(7))
    // Others may have changed it meanwhile, and then it is read once more before the failure is known.
    await store.read(softRead(key))
    harden()
    await expect(get(staged, ['b'])).rejects.toBeInstanceOf(ReadsChanged)
  })
})

test('a body that throws leaves nothing, also of what it changed twice', async () => {
  const below = memoryStore()
  const staged = new StagedStore(below)
  await put(staged, ['a'], 1)
  const failing = staged.write((writer) => {
    writer.put(['a'], 2)
    writer.put(['a'], 3)
    writer.remove(['b'])
    writer.put(['c'], 1)
    throw new RangeError('no')
  })
  await expect(failing).rejects.toThrow(RangeError)
  expect(await list(staged, {})).toEqual([['a']])
  expect(await get(staged, ['a'])).toBe(1)
})

test('more changes, bytes and reads than fit are refused, and nothing of that write is kept', async () => {
  const below = memoryStore()
  for (let i = 0; i < 20; i++) await put(below, ['r', i], i)
  const limits = { changes: 3, bytes: 200, reads: 10 }
  const staged = new StagedStore(below, { limits })
  const many = staged.write((writer) => {
    for (let i = 0; i < 4; i++) writer.put(['n', i], i)
  })
  await expect(many).rejects.toMatchObject({ code: 'InvalidInput', message: expect.stringContaining('3') })
  await expect(put(staged, ['big'], 'x'.repeat(300))).rejects.toMatchObject({ code: 'InvalidInput' })
  expect(await list(staged, { prefix: ['n'] })).toEqual([])
  await expect(list(staged, { prefix: ['r'] })).rejects.toMatchObject({ code: 'InvalidInput' })
  await put(staged, ['n', 1], 1)
  expect(await commit(below, staged)).toEqual(new Set())
})

test.each([
  ['reads', undefined],
  ['errors that follow from reads', new Error('there is no b')],
])('%s between a look at the state and the read itself are of one moment', async (_, error) => {
  const below = memoryStore()
  await put(below, ['a'], 1)
  await put(below, ['b'], 1)
  let between: (() => Promise<unknown>) | undefined
  // Another process commits right before the snapshot is taken.
  const racing: Store = {
    ...stateless(below),
    read: async (body) => {
      await between?.()
      return below.read(body)
    },
    state: () => below.state!(),
  }
  const staged = new StagedStore(racing)
  expect(await get(staged, ['a'])).toBe(1)
  expect(await get(staged, ['a'])).toBe(1)
  between = async () => {
    between = undefined
    await below.write((writer) => {
      writer.put(['a'], 2)
      writer.put(['b'], 2)
    })
  }
  const read = staged.read((reader) => {
    const found = reader.get(['b'])
    if (error) throw error
    return found
  })
  await expect(read).rejects.toBeInstanceOf(ReadsChanged)
})

test('ranges are in order and whole, however often few records changed between them', async () => {
  const below = memoryStore()
  const staged = new StagedStore(below)
  const expected = new Map<number, number>()
  for (const changes of [1, 3_000, 0, 7, 2_500]) {
    for (let i = 0; i < changes; i++) {
      const key = (i * 7919) % 13
      const isRemoved = i % 5 === 0
      await staged.write((writer) => (isRemoved ? writer.remove([key]) : writer.put([key], i)))
      if (isRemoved) expected.delete(key)
      else expected.set(key, i)
    }
    const sorted = [...expected].sort(([a], [b]) => a - b)
    const found = await staged.read((reader) =>
      [...reader.range({})].map(({ key, value }) => [key[0], value] as const),
    )
    expect(found).toEqual(sorted)
  }
  await commit(below, staged)
  expect(await list(below, {})).toEqual([...expected.keys()].sort((a, b) => a - b).map((key) => [key]))
})
