import assert from 'node:assert/strict'
import { CatalogError, type ErrorCode } from '../../src/errors.ts'
import {
  type Entry,
  type Key,
  maxKeyBytes,
  type Range,
  type Store,
  type Value,
} from '../../src/store/store.ts'

/** Somewhere stores can be opened: stores of one place share their records if they are durable. */
export interface Place {
  open(): Promise<Store>
  /** Called after each test, when all stores are closed. */
  dispose?(): Promise<void>
}

export interface StoreSuiteOptions {
  /** Registers a test, as the `test` of any test runner does. */
  readonly test: (name: string, body: () => Promise<void>) => void
  /** An empty place, nobody else's. */
  readonly place: () => Promise<Place>
}

/**
 * Registers the tests every store must pass.
 *
 * ```ts
 * testStore({ test, place: async () => ({ open: async () => memoryStore() }) })
 * ```
 */
export function testStore({ test, place }: StoreSuiteOptions): void {
  const check = (name: string, body: (store: Store, place: Place) => Promise<void>) =>
    test(name, async () => {
      const own = await place()
      const store = await own.open()
      try {
        await body(store, own)
      } finally {
        await store.close()
        await own.dispose?.()
      }
    })

  testRecords(check)
  testWrites(check)
  testStates(check)
  testRanges(check)
  testKeys(check)
  testValues(check)
  testMisuse(check)
  testClosing(check)
  testDurability(check)
}

type Check = (name: string, body: (store: Store, place: Place) => Promise<void>) => void

function testRecords(check: Check): void {
  check('a record that was never put is undefined', async (store) => {
    assert.equal(await store.read((tx) => tx.get(['a'])), undefined)
    assert.deepEqual(await all(store), [])
  })

  check('a record is what was put last, until it is removed', async (store) => {
    await store.write((tx) => tx.put(['a', 1], { n: 1 }))
    assert.deepEqual(await store.read((tx) => tx.get(['a', 1])), { n: 1 })
    await store.write((tx) => tx.put(['a', 1], { n: 2 }))
    assert.deepEqual(await store.read((tx) => tx.get(['a', 1])), { n: 2 })
    await store.write((tx) => tx.remove(['a', 1]))
    assert.equal(await store.read((tx) => tx.get(['a', 1])), undefined)
  })

  check('removing what is not there changes nothing', async (store) => {
    await store.write((tx) => tx.put(['a'], 1))
    await store.write((tx) => {
      tx.remove(['b'])
      tx.remove(['a', 'b'])
    })
    assert.deepEqual(await all(store), [{ key: ['a'], value: 1 }])
  })

  check('a transaction answers with what its body returns', async (store) => {
    assert.equal(await store.read(() => 7), 7)
    assert.equal(await store.write(() => 'seven'), 'seven')
    assert.equal(await store.write(() => undefined), undefined)
    assert.equal(await store.read(() => null), null)
  })

  check('what a body throws reaches the caller as it is', async (store) => {
    const error = new Error('mine')
    const toss = () => {
      throw error
    }
    assert.equal(await store.read(toss).catch((e: unknown) => e), error)
    assert.equal(await store.write(toss).catch((e: unknown) => e), error)
  })
}

function testWrites(check: Check): void {
  check('a write sees its own changes', async (store) => {
    await store.write((tx) => {
      tx.put(['a', 1], 'old')
      tx.put(['a', 2], 'gone')
    })
    await store.write((tx) => {
      tx.put(['a', 1], 'new')
      tx.remove(['a', 2])
      tx.put(['a', 3], 'more')
      assert.equal(tx.get(['a', 1]), 'new')
      assert.equal(tx.get(['a', 2]), undefined)
      assert.deepEqual(values(tx.range({ prefix: ['a'] })), ['new', 'more'])
      assert.deepEqual(values(tx.range({ prefix: ['a'], reverse: true })), ['more', 'new'])
    })
  })

  check('a write that throws leaves nothing behind', async (store) => {
    await store.write((tx) => {
      tx.put(['kept'], 1)
      tx.put(['changed'], 1)
      tx.put(['removed'], 1)
    })
    const before = await all(store)
    await assert.rejects(
      store.write((tx) => {
        tx.put(['changed'], 2)
        tx.remove(['removed'])
        for (let i = 0; i < 200; i++) tx.put(['added', i], i)
        throw new Error('no')
      }),
      { message: 'no' },
    )
    assert.deepEqual(await all(store), before)
  })

  check('a write that throws does not disturb those around it', async (store) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 60 }, (_, i) =>
        store.write((tx) => {
          tx.put(['first', i], i)
          if (i % 3 === 0) throw new Error('no')
          tx.put(['second', i], i)
        }),
      ),
    )
    const kept = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []))
    assert.equal(kept.length, 40)
    assert.deepEqual(await read(store, { prefix: ['first'] }), kept)
    assert.deepEqual(await read(store, { prefix: ['second'] }), kept)
  })

  check('writes at the same time happen one after the other', async (store) => {
    const seen = await Promise.all(
      Array.from({ length: 500 }, () =>
        store.write((tx) => {
          const next = (tx.get<number>(['counter']) ?? 0) + 1
          tx.put(['counter'], next)
          return next
        }),
      ),
    )
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: 500 }, (_, i) => i + 1),
    )
    assert.equal(await store.read((tx) => tx.get(['counter'])), 500)
  })

  check('a read sees all of a write or nothing', async (store) => {
    let going = true
    const writing = (async () => {
      for (let i = 1; i <= 60; i++) {
        await store.write((tx) => {
          for (let part = 0; part < 20; part++) tx.put(['part', part], i)
        })
      }
      going = false
    })()
    let reads = 0
    while (going) {
      const found = await store.read((tx) => {
        const first = tx.get(['part', 0])
        return [first, ...values(tx.range({ prefix: ['part'] })), tx.get(['part', 19])]
      })
      assert.equal(new Set(found).size, 1, `a read saw ${found}`)
      reads++
      await new Promise((resolve) => setImmediate(resolve))
    }
    await writing
    assert.ok(reads > 0)
  })

  check('a read that follows a write sees it', async (store) => {
    for (let i = 0; i < 100; i++) {
      const before = await store.read((tx) => tx.get<number>(['n']))
      assert.equal(before, i === 0 ? undefined : i - 1)
      await store.write((tx) => tx.put(['n'], i))
      assert.equal(await store.read((tx) => tx.get(['n'])), i)
    }
  })
}

function testStates(check: Check): void {
  check('every change gives a state that was never there, and nothing else does', async (store) => {
    if (store.state === undefined) return
    const seen = new Set<unknown>()
    for (let i = 0; i < 20; i++) {
      // The same content comes back; a state does not.
      await store.write((tx) => tx.put(['n'], i % 2))
      const state = store.state()
      assert.notEqual(state, undefined)
      assert.ok(!seen.has(state))
      seen.add(state)
      await store.read((tx) => tx.get(['n']))
      await store.write(() => {}).catch(() => {})
      const after: unknown = store.state()
      seen.add(after)
      await store.read((tx) => [...tx.range({})])
      assert.equal(store.state(), after)
    }
  })

  check('a change shows in the state, whatever fails around it', async (store) => {
    if (store.state === undefined) return
    for (let round = 0; round < 20; round++) {
      const before = store.state()
      const writes = Array.from({ length: 5 }, (_, i) =>
        store.write((tx) => {
          tx.put(['n', i], round)
          if (i !== round % 5) throw new Error('no')
        }),
      )
      await Promise.allSettled(writes)
      assert.notEqual(store.state(), before)
    }
  })

  check('what was read between two equal states is what a read gives', async (store) => {
    if (store.state === undefined) return
    const known = new Map<unknown, unknown>()
    let going = true
    const writing = (async () => {
      for (let i = 1; i <= 40; i++) await store.write((tx) => tx.put(['n'], i))
      going = false
    })()
    do {
      const before: unknown = store.state()
      const found = await store.read((tx) => tx.get(['n']))
      if (store.state() === before) {
        if (known.has(before)) assert.equal(found, known.get(before))
        known.set(before, found)
      }
      await new Promise((resolve) => setImmediate(resolve))
    } while (going)
    await writing
    assert.ok(known.size > 0)
  })
}

function testRanges(check: Check): void {
  const records: Key[] = [
    ['a', 1],
    ['a', 1, 'x'],
    ['a', 2],
    ['a', 10],
    ['a', 'b'],
    ['a', 'b', 'c'],
    ['a', 'bc'],
    ['ab'],
    ['ab', 1],
    ['b'],
  ]
  const cases: [Range, number[]][] = [
    [{}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    [{ prefix: [] }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    [{ prefix: ['a'] }, [0, 1, 2, 3, 4, 5, 6]],
    [{ prefix: ['a', 1] }, [1]],
    [{ prefix: ['a', 'b'] }, [5]],
    [{ prefix: ['ab'] }, [8]],
    [{ prefix: ['b'] }, []],
    [{ start: ['a', 10] }, [3, 4, 5, 6, 7, 8, 9]],
    [{ start: ['a', 3] }, [3, 4, 5, 6, 7, 8, 9]],
    [{ end: ['a', 10] }, [0, 1, 2]],
    [{ end: [] }, []],
    [{ start: [] }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    [{ start: ['a', 2], end: ['a', 'b'] }, [2, 3]],
    [{ start: ['b'], end: ['a'] }, []],
    [{ prefix: ['a'], start: ['a', 'b'] }, [4, 5, 6]],
    [{ prefix: ['a'], start: ['A'], end: ['z'] }, [0, 1, 2, 3, 4, 5, 6]],
    [{ prefix: ['a'], start: ['b'] }, []],
    [{ prefix: ['a'], end: ['a'] }, []],
    [{ prefix: ['a', 'b'], end: ['a', 'bc'] }, [5]],
    [{ limit: 0 }, []],
    [{ prefix: ['a'], limit: 2 }, [0, 1]],
    [{ prefix: ['a'], reverse: true }, [6, 5, 4, 3, 2, 1, 0]],
    [{ prefix: ['a'], reverse: true, limit: 2 }, [6, 5]],
    [{ start: ['a', 2], end: ['ab'], reverse: true, limit: 3 }, [6, 5, 4]],
    [{ prefix: ['ab'], reverse: true }, [8]],
  ]

  check('a range holds what its bounds say, in its order', async (store) => {
    await store.write((tx) => {
      for (const [i, key] of records.entries()) tx.put(key, i)
      // Inside the write as well as afterwards.
      for (const [range, expected] of cases) assert.deepEqual(values(tx.range(range)), expected, show(range))
    })
    for (const [range, expected] of cases) assert.deepEqual(await read(store, range), expected, show(range))
    const entries = await store.read((tx) => [...tx.range({ prefix: ['a', 1] })])
    assert.deepEqual(entries, [{ key: ['a', 1, 'x'], value: 1 }])
  })

  check('a long range comes whole and once', async (store) => {
    const count = 3000
    await store.write((tx) => {
      for (let i = 0; i < count; i++) tx.put(['n', i], i)
    })
    const ascending = Array.from({ length: count }, (_, i) => i)
    assert.deepEqual(await read(store, { prefix: ['n'] }), ascending)
    assert.deepEqual(await read(store, { prefix: ['n'], reverse: true }), ascending.toReversed())
    assert.deepEqual(await read(store, { start: ['n', 500], limit: 700 }), ascending.slice(500, 1200))
    assert.deepEqual(
      await read(store, { end: ['n', 2500], limit: 1500, reverse: true }),
      ascending.slice(1000, 2500).toReversed(),
    )
  })

  check('a range may be left early, walked again and walked inside another', async (store) => {
    await store.write((tx) => {
      for (let i = 0; i < 300; i++) tx.put(['n', i], i)
    })
    const walk = (tx: { range(range: Range): Iterable<Entry> }) => {
      const range = tx.range({ prefix: ['n'] })
      for (const { value } of range) if (value === 3) break
      let pairs = 0
      for (const outer of range) {
        if (outer.key[1] === 20) break
        for (const inner of tx.range({ prefix: ['n'], reverse: true, limit: 20 })) if (inner) pairs++
      }
      return [pairs, values(range).length]
    }
    assert.deepEqual(await store.read(walk), [400, 300])
    assert.deepEqual(await store.write(walk), [400, 300])
  })

  check('what a range walks over may be removed', async (store) => {
    await store.write((tx) => {
      for (let i = 0; i < 2000; i++) tx.put(['n', i], i)
      tx.put(['kept'], 1)
    })
    const met = await store.write((tx) => {
      const keys: unknown[] = []
      for (const { key } of tx.range({ prefix: ['n'] })) {
        keys.push(key[1])
        tx.remove(key)
      }
      return keys
    })
    assert.deepEqual(
      met,
      Array.from({ length: 2000 }, (_, i) => i),
    )
    assert.deepEqual(await all(store), [{ key: ['kept'], value: 1 }])
  })
}

/** Strings in the order of their code points. */
const unusual = [
  '',
  '\u0005',
  '\u001b',
  '\u001c',
  ' ',
  '..',
  '/',
  '__proto__',
  'a/b',
  'constructor',
  '\u007f',
  '\u0080',
  'é',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\u{10000}',
  '😀',
  '\u{10ffff}',
]

function testKeys(check: Check): void {
  check('unusual strings are names like any other, ordered by code points', async (store) => {
    await store.write((tx) => {
      for (const [i, name] of unusual.toReversed().entries()) {
        tx.put(['n', name], unusual.length - 1 - i)
        tx.put([name], name === '' ? 'empty' : name)
      }
    })
    const numbers = unusual.map((_, i) => i)
    assert.deepEqual(await read(store, { prefix: ['n'] }), numbers)
    assert.deepEqual(await read(store, { prefix: ['n'], reverse: true }), numbers.toReversed())
    for (const [i, name] of unusual.entries()) {
      assert.equal(await store.read((tx) => tx.get(['n', name])), i)
      assert.equal(await store.read((tx) => tx.get([name])), name === '' ? 'empty' : name)
      assert.deepEqual(await read(store, { prefix: ['n'], start: ['n', name] }), numbers.slice(i))
    }
    const keys = await store.read((tx) => Array.from(tx.range({ prefix: ['n'] }), ({ key }) => key[1]))
    assert.deepEqual(keys, unusual)
  })

  check('numbers are ordered by value and come before strings', async (store) => {
    const parts = [
      -Number.MAX_VALUE,
      -1e20,
      -2.5,
      -2,
      -1,
      -5e-324,
      0,
      5e-324,
      0.5,
      1,
      1.5,
      2,
      10,
      2 ** 53,
      1e300,
      '0',
    ]
    await store.write((tx) => {
      for (const part of parts.toReversed()) tx.put(['n', part, 'x'], String(part))
      tx.put([-0], 'zero')
    })
    assert.deepEqual(await read(store, { prefix: ['n'] }), parts.map(String))
    assert.equal(await store.read((tx) => tx.get([0])), 'zero')
    assert.ok(Object.is(await store.read((tx) => [...tx.range({ end: [1] })][0]?.key[0]), 0))
  })

  check(`a key of ${maxKeyBytes} bytes fits, a longer one is refused`, async (store) => {
    const longest = ['x'.repeat(maxKeyBytes)]
    const wide = ['é'.repeat(maxKeyBytes / 2 - 1), 'x']
    await store.write((tx) => {
      tx.put(longest, 1)
      tx.put(wide, 2)
    })
    assert.deepEqual(await read(store, {}), [1, 2])
    assert.deepEqual(await read(store, { prefix: [wide[0]!] }), [2])
    for (const key of [[`${longest[0]}x`], [`${wide[0]}é`, 'x'], ['😀'.repeat(maxKeyBytes / 4), '']]) {
      await refused(
        store.write((tx) => tx.put(key, 3)),
        'InvalidInput',
      )
      await refused(
        store.read((tx) => tx.get(key)),
        'InvalidInput',
      )
    }
    assert.deepEqual(await read(store, {}), [1, 2])
  })

  check('what cannot be a key is refused, and nothing changes', async (store) => {
    const bad: Key[] = [
      [],
      [Number.NaN],
      [Number.POSITIVE_INFINITY],
      ['a\0b'],
      ['\ud800'],
      ['a', 'b\udc00'],
      ['x'.repeat(5000)],
      [undefined as unknown as string],
      [null as unknown as string],
      [{} as string],
    ]
    for (const key of bad) {
      await refused(
        store.write((tx) => {
          tx.put(['before'], 1)
          tx.put(key, 1)
        }),
        'InvalidInput',
      )
      await refused(
        store.write((tx) => tx.remove(key)),
        'InvalidInput',
      )
      await refused(
        store.read((tx) => tx.get(key)),
        'InvalidInput',
      )
      if (key.length === 0) continue
      for (const range of [{ prefix: key }, { start: key }, { end: key }])
        await refused(read(store, range), 'InvalidInput')
    }
    assert.deepEqual(await all(store), [])
    await store.write((tx) => tx.put(['after'], 1))
    assert.deepEqual(await read(store, {}), [1])
  })
}

function testValues(check: Check): void {
  check('values come back as they were put', async (store) => {
    const kept: Value[] = [
      '',
      'text',
      0,
      -1.5,
      1e300,
      {},
      [],
      [1, [2, [3, {}]]],
      { a: { b: { c: [1, 'x', true, false, null] } } },
      JSON.parse('{"__proto__":{"x":1},"constructor":"c","":"empty"}') as object,
      { text: 'half \ud800 of a pair, 😀, \u0000 and \uffff' },
      { big: 'é'.repeat(500_000) },
      Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`property ${i}`, `value ${i}`])),
    ]
    await store.write((tx) => {
      for (const [i, value] of kept.entries()) tx.put(['v', i], value)
      for (const [i, value] of kept.entries()) assert.deepEqual(tx.get(['v', i]), value)
    })
    for (const [i, value] of kept.entries()) {
      assert.deepEqual(await store.read((tx) => tx.get(['v', i])), value)
    }
    assert.deepEqual(await read(store, { prefix: ['v'] }), kept)
    const odd = (await store.read((tx) => tx.get(['v', 9]))) as object
    assert.deepEqual(Object.keys(odd), ['__proto__', 'constructor', ''])
  })

  check('members that are undefined are left out', async (store) => {
    await store.write((tx) => tx.put(['a'], { here: 1, not: undefined, deep: { not: undefined } }))
    const value = (await store.read((tx) => tx.get(['a']))) as object
    assert.deepEqual(Object.keys(value), ['here', 'deep'])
    assert.deepEqual(value, { here: 1, deep: {} })
  })

  check('nobody can change a record from outside', async (store) => {
    const value = { list: [1, 2], deep: { text: 'a' } }
    const key: [string, number] = ['k', 1]
    await store.write((tx) => {
      tx.put(key, value)
      key[1] = 2
      value.list.push(3)
      value.deep.text = 'b'
    })
    value.list.push(4)
    const expected = [{ key: ['k', 1], value: { list: [1, 2], deep: { text: 'a' } } }]
    assert.deepEqual(await all(store), expected)

    const attempts: ((entry: { key: unknown[]; value: typeof value }) => void)[] = [
      ({ value: got }) => got.list.push(9),
      ({ value: got }) => Object.assign(got.deep, { text: 'z' }),
      (entry) => Object.assign(entry.value, { list: [] }),
      (entry) => Object.assign(entry, { value: 0 }),
      ({ key: got }) => got.push('z'),
    ]
    for (const attempt of attempts) {
      await store.read((tx) => {
        for (const entry of tx.range({})) allow(() => attempt(entry as never))
        allow(() => attempt({ key: ['k', 1], value: tx.get(['k', 1])! as typeof value }))
      })
      assert.deepEqual(await all(store), expected)
    }
  })

  check('a value may be read, changed in a copy and put back', async (store) => {
    await store.write((tx) => tx.put(['a'], { n: 1, deep: { kept: [1] } }))
    await store.write((tx) => {
      const before = tx.get<{ n: number; deep: object }>(['a'])!
      tx.put(['a'], { ...before, n: before.n + 1 })
    })
    assert.deepEqual(await read(store, {}), [{ n: 2, deep: { kept: [1] } }])
  })
}

function testMisuse(check: Check): void {
  check('a reader or writer is refused after its transaction', async (store) => {
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
  })

  check('an asynchronous body is refused and undone', async (store) => {
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
  })

  check('a transaction inside the body of another is refused', async (store) => {
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
  })

  check('a body may go on after a key was refused', async (store) => {
    await store.write((tx) => {
      tx.put(['a'], 1)
      assert.throws(() => tx.put([''.padEnd(5000, 'x')], 1))
      tx.put(['b'], 2)
    })
    assert.deepEqual(await read(store, {}), [1, 2])
  })
}

function testClosing(check: Check): void {
  check('closing finishes what is under way, and may be repeated', async (store) => {
    const writes = Array.from({ length: 20 }, (_, i) =>
      store.write((tx) => {
        tx.put(['n', i], i)
        return i
      }),
    )
    const closing = store.close()
    await Promise.all([closing, store.close()])
    assert.deepEqual(
      await Promise.all(writes),
      Array.from({ length: 20 }, (_, i) => i),
    )
    await store.close()
  })

  check('a closed store refuses everything', async (store) => {
    const closing = store.close()
    const attempts = () => [store.read((tx) => tx.get(['a'])), store.write((tx) => tx.put(['a'], 1))]
    const early = attempts()
    for (const attempt of early) await refused(attempt, 'ServiceUnavailable', /closed/)
    await closing
    for (const attempt of attempts()) await refused(attempt, 'ServiceUnavailable', /closed/)
  })
}

function testDurability(check: Check): void {
  check('what was written is there when a durable store is opened again', async (store, place) => {
    if (!store.features.durable) return
    await store.write((tx) => {
      for (let i = 0; i < 200; i++) tx.put(['n', i], { i })
    })
    await store.write((tx) => tx.remove(['n', 7]))
    const before = await all(store)
    await store.close()
    const again = await place.open()
    try {
      assert.equal(before.length, 199)
      assert.deepEqual(await all(again), before)
    } finally {
      await again.close()
    }
  })

  check('two durable stores of one place see the same records', async (store, place) => {
    if (!store.features.durable) return
    const other = await place.open()
    const count = (one: Store) =>
      one.write((tx) => {
        const next = (tx.get<number>(['counter']) ?? 0) + 1
        tx.put(['counter'], next)
        return next
      })
    const seen = await Promise.all(Array.from({ length: 100 }, (_, i) => count(i % 2 ? store : other)))
    assert.equal(new Set(seen).size, 100)
    await other.close()
    assert.equal(await store.read((tx) => tx.get(['counter'])), 100)
    assert.equal(await count(store), 101)
  })
}

function values(entries: Iterable<Entry>): Value[] {
  return Array.from(entries, ({ value }) => value)
}

function read(store: Store, range: Range): Promise<Value[]> {
  return store.read((tx) => values(tx.range(range)))
}

function all(store: Store): Promise<Entry[]> {
  return store.read((tx) => [...tx.range({})])
}

function show(range: Range): string {
  return `the range ${JSON.stringify(range)}`
}

function allow(attempt: () => void): void {
  try {
    attempt()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
  }
}

async function refused(attempt: Promise<unknown>, code: ErrorCode, message = /./): Promise<void> {
  const error = await attempt.then(
    () => assert.fail(`was not refused with ${code}`),
    (cause: unknown) => cause,
  )
  if (!(error instanceof CatalogError)) throw error
  assert.equal(error.code, code, error.message)
  assert.match(error.message, message)
}
