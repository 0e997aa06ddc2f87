import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { migratePostgres, openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { storeFormat } from '../../../src/stores/postgres/schema.ts'
import { missingPostgres, PostgresServer, sharedServer } from '../../support/postgres.ts'
import { opened, refusal } from './refusal.ts'

describe.skipIf(missingPostgres)('a database', () => {
  test.each(['off', 'local', 'remote_apply'])(
    'commits to its disk where synchronous_commit is %s',
    async (mode) => {
      const server = await sharedServer()
      const url = await server.freshUrl()
      const schema = new URL(url).searchParams.get('schema')!
      // What is put off until the commit sees what the commit sees.
      await server.query(`
      CREATE ROLE sync_${mode} LOGIN SUPERUSER;
      ALTER ROLE sync_${mode} SET synchronous_commit = ${mode};
      CREATE TABLE ${schema}.seen (mode text);
      CREATE FUNCTION ${schema}.see() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO ${schema}.seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER seeing AFTER INSERT ON ${schema}.commits DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION ${schema}.see()`)
      const store = await openPostgresStore(url.replace('postgres@', `sync_${mode}@`))
      onTestFinished(() => store.close())
      await store.write((tx) => tx.put(['a'], 1))
      const seen = await server.query(`SELECT mode FROM ${schema}.seen`)
      expect(seen).toEqual([{ mode: mode === 'off' ? 'on' : mode }])
    },
  )

  test('says that it is not durable when its server does not sync, and warns', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    for (const [fsync, durable] of [
      ['on', true],
      ['off', false],
    ] as const) {
      warned.mockClear()
      const server = await PostgresServer.start({ fsync })
      onTestFinished(() => server.stop())
      const url = await server.freshUrl()
      for (let n = 0; n < 2; n++) {
        const store = await openPostgresStore(url)
        expect(store.features.durable).toBe(durable)
        await store.close()
      }
      // Once for a server.
      expect(warned).toHaveBeenCalledTimes(durable ? 0 : 1)
      if (!durable)
        expect(warned).toHaveBeenCalledWith(expect.stringMatching(/fsync .* power cut/), expect.anything())
    }
  })

  test('whose schema was renamed never shows another catalog, and is mended by a migration', async () => {
    const server = await sharedServer()
    const put = async (url: string, value: string) => {
      const store = await openPostgresStore(url)
      await store.write((tx) => tx.put(['name'], value))
      await store.close()
    }
    const nameIn = async (url: string) => {
      const store = await openPostgresStore(url)
      const name = await store.read((tx) => tx.get(['name']))
      await store.close()
      return name
    }
    const [before, after] = ['its name', 'its new name'].map((name) =>
      server.url('postgres', `?schema=${name}`),
    )
    await migratePostgres(before!)
    await put(before!, 'old')
    await server.query('ALTER SCHEMA "its name" RENAME TO "its new name"')
    expect((await opened(before!)).message).toContain('tabularium migrate')
    expect(await opened(after!)).toMatchObject({
      code: 'InvalidInput',
      message: expect.stringMatching(/renamed.*tabularium migrate/),
    })
    // A new catalog under the old name.
    await migratePostgres(before!)
    await put(before!, 'new')
    await opened(after!)
    expect(await migratePostgres(after!)).toEqual({ from: storeFormat, to: storeFormat })
    expect([await nameIn(before!), await nameIn(after!)]).toEqual(['new', 'old'])
    await put(after!, 'old, changed')
    expect([await nameIn(before!), await nameIn(after!)]).toEqual(['new', 'old, changed'])
  })

  test('whose functions or schema were dropped meanwhile says what to do', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const schema = new URL(url).searchParams.get('schema')!
    const store = await openPostgresStore(url)
    onTestFinished(() => store.close())
    await store.write((tx) => tx.put(['a'], 1))
    await server.query(`DROP FUNCTION ${schema}.commit_records; DROP FUNCTION ${schema}.read_records`)
    for (const call of [
      () => store.write((tx) => tx.put(['a'], 2)),
      () => store.read((tx) => tx.get(['a'])),
    ]) {
      expect((await refusal(call())).message).toContain('tabularium migrate')
    }
    expect((await opened(url)).message).toContain('tabularium migrate')
    await migratePostgres(url)
    await store.write((tx) => tx.put(['a'], (tx.get<number>(['a']) ?? 0) + 2))
    expect(await store.read((tx) => tx.get(['a']))).toBe(3)
    await server.query(`DROP SCHEMA ${schema} CASCADE`)
    for (const call of [
      () => store.write((tx) => tx.put(['a'], 2)),
      () => store.read((tx) => tx.get(['b'])),
    ]) {
      expect((await refusal(call())).message).toContain('tabularium migrate')
    }
  })
})
