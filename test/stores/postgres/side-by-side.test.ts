import fc from 'fast-check'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Key, Reader, Store, Writer } from '../../../src/base/store/store.ts'
import { migratePostgres, openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { maxLocks } from '../../../src/stores/postgres/locks.ts'
import { stepsTo, storeFormat } from '../../../src/stores/postgres/schema.ts'
import { type Database, missingPostgres, PostgresServer, sharedServer } from '../../support/postgres.ts'
import { limitEach } from '../../support/time-limit.ts'

// It tries random commits, and starts a server of PostgreSQL.
limitEach(60)

const schemaOf = (url: string) => new URL(url).searchParams.get('schema')!

async function opened(url: string): Promise<Store> {
  const store = await openPostgresStore(url)
  onTestFinished(() => store.close())
  return store
}

/** Commits that write the record `slow` stop at their very end, with all of their locks, until the release. */
async function heldUp(server: Database, url: string): Promise<() => Promise<void>> {
  const schema = schemaOf(url)
  await server.query(`
    CREATE FUNCTION ${schema}.wait() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.key = 'slow\\003'::bytea THEN PERFORM pg_advisory_xact_lock(hashtext('${schema}')); END IF;
        RETURN NULL;
      END $$;
    CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON ${schema}.records
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${schema}.wait();`)
  const holder = new pg.Client({ connectionString: server.url() })
  await holder.connect()
  await holder.query(`SELECT pg_advisory_lock(hashtext('${schema}'))`)
  let ended: Promise<void> | undefined
  const release = () => {
    ended ??= holder.end()
    return ended
  }
  onTestFinished(release)
  return release
}

async function waitingFor(server: Database, event: string): Promise<void> {
  for (;;) {
    const rows = await server.query(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = '${event}'`,
    )
    if (rows.length > 0) return
  }
}

describe.skipIf(missingPostgres)('commits over PostgreSQL', () => {
  test('go side by side where they meet at no record, and wait for each other where they do', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const [one, two, three, four] = await Promise.all([1, 2, 3, 4].map(() => opened(url)))
    const release = await heldUp(server, url)
    const done: string[] = []
    const slow = one!
      .write((tx) => {
        tx.get(['read'])
        tx.put(['slow'], 1)
        tx.append!(['f'], 'slow')
      })
      .then(() => done.push('slow'))
    await waitingFor(server, 'advisory')
    // What the slow commit read may be read by others.
    await two!.write((tx) => {
      tx.get(['read'])
      tx.put(['other'], 2)
      tx.append!(['f'], 'other')
    })
    done.push('other')
    // The feed is read meanwhile, and what comes in later lies behind what was told.
    const feed = (store: Store) => store.read((tx) => Array.from(tx.range({ prefix: ['f'] }), (e) => e.value))
    expect(await feed(two!)).toEqual(['other'])
    const changed = three!.write((tx) => tx.put(['read'], 3)).then(() => done.push('changed'))
    const ranged = four!
      .write((tx) =>
        tx.put(
          ['seen'],
          [...tx.range({ prefix: [] })].map(({ key }) => key.join(' ')),
        ),
      )
      .then(() => done.push('ranged'))
    await waitingFor(server, 'relation')
    expect(done).toEqual(['other'])
    await release()
    await Promise.all([slow, changed, ranged])
    expect(await feed(two!)).toEqual(['other', 'slow'])
    // The range shows the slow commit, and its entry in the feed.
    expect(await two!.read((tx) => tx.get(['seen']))).toEqual(
      expect.arrayContaining(['slow', 'other', 'f 0000000000000001', 'f 0000000000000002']),
    )
  })

  test('never both build on what the other one changes', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const stores = await Promise.all([1, 2, 3].map(() => opened(url)))
    const parts = fc.constantFrom('a', 'b', 'c', 'd')
    const rule = fc.record({ reads: fc.uniqueArray(parts, { minLength: 1, maxLength: 3 }), writes: parts })
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(rule, { minLength: 2, maxLength: 9 }), async (rules) => {
        const key = (part: string): Key => ['r', round, part]
        round++
        // Each writes what it saw. So the outcome tells the order, and some order must tell the outcome.
        const seen = (tx: Reader, reads: readonly string[]) =>
          reads.map((part) => tx.get<string>(key(part)) ?? '-').join()
        const body = (tx: Writer, i: number) => {
          const saw = seen(tx, rules[i]!.reads)
          tx.put(key(rules[i]!.writes), `${i}`)
          return saw
        }
        const saw = await Promise.all(rules.map((_, i) => stores[i % 3]!.write((tx) => body(tx, i))))
        const left = await stores[0]!.read((tx) => seen(tx, ['a', 'b', 'c', 'd']))
        expect(hasOrder(rules, saw, left)).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  test('that lock more records than the server has room for go alone', async () => {
    const server = await PostgresServer.start({ max_locks_per_transaction: '10', max_connections: '12' })
    onTestFinished(() => server.stop())
    const url = await server.freshUrl()
    const stores = await Promise.all([1, 2].map(() => opened(url)))
    const many = (name: string) => (tx: Writer) => {
      for (let i = 0; i < maxLocks; i++) tx.put([name, i], i)
    }
    await Promise.all(stores.map((store, i) => store.write(many(`n${i}`))))
    for (const name of ['n0', 'n1'])
      expect(await stores[0]!.read((tx) => [...tx.range({ prefix: [name] })].length)).toBe(maxLocks)
  })

  test('go on behind the numbers of a format that numbered at once', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const schema = schemaOf(url)
    await server.query(`DROP SCHEMA ${schema} CASCADE; CREATE SCHEMA ${schema}`)
    await server.query(stepsTo(schema)[0]!)
    // The functions had other parameters.
    await server.query(`
      CREATE FUNCTION ${schema}.read_records(bytea[]) RETURNS integer LANGUAGE sql AS 'SELECT 1';
      CREATE FUNCTION ${schema}.commit_records(bigint) RETURNS integer LANGUAGE sql AS 'SELECT 1';
      INSERT INTO ${schema}.records VALUES ('f\\0030000000000000007\\003', '"old"', 1)`)
    expect(await migratePostgres(url)).toEqual({ from: 1, to: storeFormat })
    const store = await opened(url)
    await store.write((tx) => tx.append!(['f'], 'new'))
    expect(await store.read((tx) => Array.from(tx.range({ prefix: ['f'] })))).toEqual([
      { key: ['f', '0000000000000007'], value: 'old' },
      { key: ['f', '0000000000000008'], value: 'new' },
    ])
  })

  test('are seen whole by a long walk, with the entries that they append', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const [writer, walker] = await Promise.all([opened(url), opened(url)])
    await writer.write((tx) => {
      for (let i = 0; i < 3_000; i++) tx.put(['many', i], i)
    })
    let isDone = false
    const writing = (async () => {
      for (let n = 1; !isDone; n++)
        await writer.write((tx) => {
          tx.put(['last'], n)
          tx.append!(['f'], n)
        })
    })()
    for (let walk = 0; walk < 12; walk++) {
      const seen = await walker.read((tx) => [...tx.range({ prefix: [] })])
      const last = seen.find(({ key }) => key[0] === 'last')?.value ?? 0
      const told = seen.filter(({ key }) => key[0] === 'f').map(({ value }) => value)
      expect(told).toEqual(Array.from({ length: last as number }, (_, i) => i + 1))
    }
    isDone = true
    await writing
  })

  test('show their numbered records to a user that may only read, soon', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const schema = schemaOf(url)
    await server.query(`
      DO $$ BEGIN CREATE ROLE looker LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
      GRANT USAGE ON SCHEMA ${schema} TO looker; GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO looker`)
    const looking = new URL(url)
    looking.username = 'looker'
    const [writer, looker] = await Promise.all([opened(url), opened(looking.href)])
    await writer.write((tx) => tx.append!(['f'], 'one'))
    const numbers = () => looker.read((tx) => Array.from(tx.range({ prefix: ['f'] }), ({ value }) => value))
    while ((await numbers()).length === 0);
    expect(await numbers()).toEqual(['one'])
  })
})

/** Whether the rules can have run one after the other, each on what those before it left. */
function hasOrder(
  rules: readonly { readonly reads: readonly string[]; readonly writes: string }[],
  saw: readonly string[],
  left: string,
): boolean {
  const tried = new Set<string>()
  const from = (state: ReadonlyMap<string, string>, done: number): boolean => {
    const seen = (reads: readonly string[]) => reads.map((part) => state.get(part) ?? '-').join()
    if (done === 2 ** rules.length - 1) return seen(['a', 'b', 'c', 'd']) === left
    const place = `${done} ${seen(['a', 'b', 'c', 'd'])}`
    if (tried.has(place)) return false
    tried.add(place)
    return rules.some(
      ({ reads, writes }, i) =>
        (done & (1 << i)) === 0 &&
        seen(reads) === saw[i] &&
        from(new Map(state).set(writes, `${i}`), done | (1 << i)),
    )
  }
  return from(new Map(), 0)
}
