import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import { keys } from '../../../src/base/store/records.ts'
import type { Key, Store, Writer } from '../../../src/base/store/store.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { CatalogError, type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { contentWith, eachContent, pathsOf } from '../../support/contents.ts'
import { fails } from '../../support/refusals.ts'
import { numbered, rowsOf } from '../../support/rows.ts'

const id = ['prod', 'flights']

async function filled(catalog: LocalCatalog): Promise<void> {
  await catalog.createNamespace({ id: ['prod'] })
  await catalog.createTable({ id, data: numbered(100) })
  await catalog.insertIntoTable({ id, data: numbered(20, 100) })
  await catalog.deleteFromTable({ id, predicate: 'n % 3 = 0' })
  await catalog.createTableTag({ id, tag: 'audited', version: 2 })
  await catalog.createTableBranch({ id, name: 'dev' })
  await catalog.insertIntoTable({ id, branch: 'dev', data: numbered(5) })
  await catalog.declareTable({ id: ['declared'], location: 's3://bucket/declared' })
  await catalog.declareTable({ id: ['prod', 'empty'] })
}

eachContent((open) => {
  describe('verify', () => {
    it('finds nothing in a sound catalog, and tells what it looked at', async () => {
      const { catalog } = await open()
      await filled(catalog)
      const seen: string[] = []
      const report = await catalog.verify({ onProgress: ({ step }) => seen.push(step) })
      expect(report).toMatchObject({ ok: true, complete: true, problems: 0, harmless: 0, findings: [] })
      expect(report).toMatchObject({ tables: 3, versions: 5, objects: 8, elsewhere: 1 })
      expect(report.bytes).toBeGreaterThan(5_000)
      expect(new Set(seen)).toEqual(new Set(['store', 'records', 'content', 'leftovers']))
      const quick = await catalog.verify({ quick: true })
      expect(quick).toMatchObject({ ok: true, objects: 8 })
      expect(quick.bytes).toBeLessThan(report.bytes)
    })

    it('names every object that is missing, cut off, too long or changed, and its table', async () => {
      const { catalog, content } = await open({ cacheBytes: 0 })
      await filled(catalog)
      for (const path of await pathsOf(content)) {
        const bytes = (await content.get(path))!.slice()
        const spoils: [RegExp, Uint8Array | undefined, boolean][] = [
          [/is missing/, undefined, true],
          [/cut off|damaged|no manifest/, bytes.subarray(0, bytes.length >> 1), true],
          [/longer|checksum|committed/, Buffer.concat([bytes, Buffer.from(' ')]), true],
          [/damaged|checksum|committed/, flipped(bytes, bytes.length >> 1), path.endsWith('.json')],
        ]
        for (const [says, spoiled, quickly] of spoils) {
          await content.remove(path)
          if (spoiled) await content.put(path, spoiled)
          for (const quick of quickly ? [true, false] : [false]) {
            const { ok, findings } = await catalog.verify({ quick })
            expect(ok).toBe(false)
            const found = findings.find(({ where }) => where === path)
            expect(found, path).toMatchObject({ severity: 'problem', kind: 'content', id })
            expect(found!.message).toMatch(says)
            expect(found!.message).toContain(JSON.stringify(path))
          }
        }
        await content.remove(path)
        await content.put(path, bytes)
      }
      expect(await catalog.verify()).toMatchObject({ ok: true })
    })

    it('tells of a record of a kind that it does not know', async () => {
      const store = memoryStore()
      const catalog = closedAfterwards(await openCatalog({ store, content: memoryContent() }))
      await filled(catalog)
      await store.write((writer) => writer.put(['~', 'later'], { v: 9 }))
      const { ok, findings } = await catalog.verify()
      expect(ok).toBe(true)
      expect(findings).toMatchObject([{ severity: 'harmless', where: '["~","later"]' }])
    })

    it('finds every flipped bit of every object, and no read answers otherwise', async () => {
      const { catalog, content } = await open({ cacheBytes: 0 })
      await filled(catalog)
      const paths = await pathsOf(content)
      const before = await rowsOf(catalog, id)
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...paths),
          fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
          fc.nat(7),
          async (path, where, bit) => {
            const bytes = (await content.get(path))!.slice()
            await content.remove(path)
            await content.put(path, flipped(bytes, Math.floor(where * bytes.length), bit))
            const { findings } = await catalog.verify({ store: false })
            expect(findings.map((finding) => finding.where)).toContain(path)
            // Either refused, naming the file, or answered from what is sound.
            const answer = await rowsOf(catalog, id).catch((error: Error) => error)
            if (answer instanceof Error) expect(answer.message).toContain(JSON.stringify(path))
            else expect(answer).toEqual(before)
            await content.remove(path)
            await content.put(path, bytes)
          },
        ),
        { numRuns: Number(process.env.TABULARIUM_FLIPS ?? 12) },
      )
    })

    it('names the registration of a deregistered table that is missing or damaged', async () => {
      const { catalog, content } = await open()
      await filled(catalog)
      const { location } = await catalog.deregisterTable({ id })
      await catalog.deregisterTable({ id: ['declared'] })
      const paths = (await pathsOf(content, '')).filter((path) => /^(?!records).*-[^/]*\.json$/.test(path))
      const written = paths.filter((path) => !path.includes('/_versions/'))
      expect(written).toHaveLength(2)
      expect(await catalog.verify()).toMatchObject({ ok: true, findings: [] })
      for (const path of written) {
        const bytes = (await content.get(path))!.slice()
        const spoils: [RegExp, Uint8Array | undefined][] = [
          [/is missing/, undefined],
          [/damaged/, bytes.subarray(0, bytes.length - 10)],
          [/damaged/, flipped(bytes, bytes.length >> 1)],
          [/is not a registration/, flipped(bytes, 5)],
        ]
        for (const [says, spoiled] of spoils) {
          await content.remove(path)
          if (spoiled) await content.put(path, spoiled)
          const { problems, findings } = await catalog.verify({ quick: true })
          expect(problems).toBe(1)
          expect(findings[0]).toMatchObject({ severity: 'problem', kind: 'content', where: path })
          expect(findings[0]!.message).toMatch(says)
          if (spoiled && path.startsWith('tables/'))
            await fails(catalog.registerTable({ id, location }), 'InvalidTableState', path, 'Restore it')
        }
        await content.remove(path)
        await content.put(path, bytes)
      }
      await catalog.registerTable({ id, location })
      expect(await catalog.verify()).toMatchObject({ ok: true, findings: [] })
    })

    it('tells of what a vacuum removes, and of nothing that is younger than an hour', async () => {
      let hours = 0
      const { catalog, content } = await open({ now: () => Date.now() + hours * 3_600_000 })
      await filled(catalog)
      const [path] = await pathsOf(content)
      const folder = path!.split('/').slice(0, 2).join('/')
      await content.put(`${folder}/data/0mwoygrsm-78dbeef5ac59f90d.arrow`, new Uint8Array(100))
      await content.put(`${folder}/somebody-elses`, new Uint8Array(100))
      await content.put('tables/01M7WD23HXSQAFYYJM8CKKHQT4/data/lost.arrow', new Uint8Array(50))
      expect(await catalog.verify()).toMatchObject({ ok: true, harmless: 0 })
      hours = 2
      const { ok, findings } = await catalog.verify()
      expect(ok).toBe(true)
      expect(findings).toMatchObject([
        { severity: 'harmless', kind: 'leftover', id, where: `${folder}/` },
        { severity: 'harmless', kind: 'leftover', where: 'tables/01M7WD23HXSQAFYYJM8CKKHQT4/' },
      ])
      expect(await catalog.vacuum()).toMatchObject({ removed: 2, bytes: 150 })
      expect(await catalog.verify()).toMatchObject({ ok: true, harmless: 0 })
    })

    it('stops when it is told to', async () => {
      const { catalog } = await open()
      await filled(catalog)
      const reason = new Error('enough')
      const abort = new AbortController()
      const stopped = catalog.verify({
        signal: abort.signal,
        onProgress: ({ step }) => step === 'content' && abort.abort(reason),
      })
      await expect(stopped).rejects.toBe(reason)
    })
  })
})

function flipped(bytes: Uint8Array, at: number, bit = 3): Uint8Array {
  const changed = bytes.slice()
  changed[at]! ^= 1 << bit
  return changed
}

it('reads an object piece by piece, however many columns it has', async () => {
  const content = memoryContent()
  const gets = new Map<string, number>()
  const counting = contentWith(content, {
    get: (path, range) => {
      gets.set(path, (gets.get(path) ?? 0) + 1)
      return content.get(path, range)
    },
  })
  await using catalog = await openCatalog({ store: memoryStore(), content: counting })
  const row = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`c${i}`, i]))
  await catalog.createTable({ id: ['wide'], data: Array.from({ length: 20_000 }, () => row) })
  gets.clear()
  expect((await catalog.verify()).ok).toBe(true)
  // One for its size, and one for each piece of 4 MiB.
  const [, count] = [...gets].find(([path]) => path.endsWith('.arrow'))!
  expect(count).toBe(1 + Math.ceil((50 * 20_000 * 8) / 2 ** 22))
})

describe('content that is away', () => {
  /** A catalog whose content fails as `failure` says of each path. */
  async function failing() {
    const content = memoryContent()
    const away = { failure: (_path: string): CatalogError | undefined => undefined }
    const get: Content['get'] = async (path, range) => {
      const error = away.failure(path)
      if (error) throw error
      return content.get(path, range)
    }
    const catalog = closedAfterwards(
      await openCatalog({
        store: memoryStore(),
        content: contentWith(content, {
          get,
        }),
      }),
    )
    await filled(catalog)
    return { catalog, content, away }
  }

  it.each(['ServiceUnavailable', 'PermissionDenied'] as const)(
    'is no damage: verify fails with %s',
    async (code) => {
      const { catalog, away } = await failing()
      let asked = 0
      away.failure = () => (++asked > 3 ? new CatalogError(code, 'The service is away.') : undefined)
      await fails(catalog.verify(), code, 'The service is away.')
    },
  )

  it('is asked again for an object whose request failed', async () => {
    const { catalog, away } = await failing()
    const failed = new Set<string>()
    away.failure = (path) => {
      if (path.endsWith('nothing') || failed.has(path)) return undefined
      failed.add(path)
      return new CatalogError('ServiceUnavailable', 'The connection was cut.')
    }
    expect(await catalog.verify()).toMatchObject({ ok: true, findings: [] })
    expect(failed.size).toBe(8)
  })

  it('is not what is wrong where one object alone cannot be read: that is a problem', async () => {
    const { catalog, content, away } = await failing()
    const files = (await pathsOf(content)).filter((path) => path.endsWith('.arrow'))
    away.failure = (path) =>
      path.endsWith('.arrow') ? new CatalogError('ServiceUnavailable', 'It is cut off each time.') : undefined
    const { findings } = await catalog.verify()
    expect(findings.map(({ where }) => where).sort()).toEqual(files)
    expect(new Set(findings.map(({ message }) => message))).toEqual(new Set(['It is cut off each time.']))
  })
})

describe('records that do not fit each other', () => {
  let store: Store
  let catalog: LocalCatalog
  let content: Content

  async function open(): Promise<void> {
    store = memoryStore()
    content = memoryContent()
    catalog = await openCatalog({ store, content })
    await filled(catalog)
  }

  const prodOf = (writer: Writer) => String(writer.get(keys.namespaceName('', 'prod')))
  const flightsOf = (writer: Writer) => keys.table(prodOf(writer), 'flights')

  /** What each record says that was spoilt, and which record is named for it. */
  const spoils: Record<string, (writer: Writer, table: string) => [Key, RegExp]> = {
    'a name that names nothing': (writer, table) => {
      writer.remove(keys.tablePointer(table))
      return [flightsOf(writer), /which is not there/]
    },
    'a table that no name names': (writer, table) => {
      writer.remove(flightsOf(writer))
      return [keys.tablePointer(table), /no identifier reaches it/]
    },
    'a name of another': (writer) => {
      writer.put(keys.table('', 'other'), writer.get(flightsOf(writer))!)
      return [keys.table('', 'other'), /has another name/]
    },
    'a namespace that is its own parent': (writer) => {
      const own = prodOf(writer)
      writer.put(keys.namespace(own), { ...(writer.get<object>(keys.namespace(own)) as object), parent: own })
      writer.put(keys.namespaceName(own, 'prod'), own)
      return [keys.namespace(own), /does not lead to the root/]
    },
    'a version that is missing': (writer, table) => {
      writer.remove(keys.version(table, '', 3))
      return [flightsOf(writer), /latest version is 3, which is not there/]
    },
    'an entry of the feed whose transaction is gone': (writer) => {
      const [entry] = [...writer.range<string>({ prefix: keys.feed, limit: 1 })]
      writer.remove(keys.transaction(entry!.value))
      return [entry!.key, /names the transaction .*, which is not there/]
    },
    'a tag of a missing version': (writer, table) => {
      writer.put(keys.tag(table, 'audited'), { v: 1, branch: '', version: 77 })
      return [keys.tag(table, 'audited'), /version 77, which is not there/]
    },
    'a version after the latest': (writer, table) => {
      writer.put(keys.version(table, '', 9), writer.get(keys.version(table, '', 1)) as object)
      return [keys.version(table, '', 9), /after the latest version/]
    },
    'a version of no branch': (writer, table) => {
      writer.remove(keys.branch(table, 'dev'))
      return [keys.version(table, 'dev', 4), /not there/]
    },
    'a branch of no table': (writer) => {
      const branch = {
        v: 1,
        head: { latest: null, last: null },
        parent_branch: '',
        parent_version: 1,
        created_at: 1,
      }
      writer.put(keys.branch('none', 'b'), branch)
      return [keys.branch('none', 'b'), /a table that is not there/]
    },
    'a location of nobody': (writer) => {
      writer.put(keys.location(['s3:', 'bucket', 'lost']), 'nobody')
      return [keys.location(['s3:', 'bucket', 'lost']), /nobody, which is not there/]
    },
    'a location that is owned twice': (writer, table) => {
      writer.put(keys.location(['s3:', 'bucket', 'declared']), table)
      return [keys.location(['s3:', 'bucket', 'declared']), /which lies elsewhere/]
    },
    'a location whose key joins two names of it': (writer) => {
      const owner = writer.get<string>(keys.location(['s3:', 'bucket', 'declared']))!
      writer.put(keys.location(['s3:', 'bucket/declared']), owner)
      return [keys.location(['s3:', 'bucket/declared']), /which lies elsewhere/]
    },
    'a record of another shape': (writer, table) => {
      writer.put(keys.version(table, '', 1), { v: 1, manifest_path: 7 })
      return [keys.version(table, '', 1), /has unexpected content: its manifest_path/]
    },
    'a number of rows that is not the manifest’s': (writer, table) => {
      const record = writer.get<object>(keys.version(table, '', 2)) as { rows: number }
      writer.put(keys.version(table, '', 2), { ...record, rows: 5 })
      return [keys.version(table, '', 2), /should have 5 rows and its manifest has 120/]
    },
  }

  it.each(Object.keys(spoils))('%s', async (name) => {
    await open()
    const [key, says] = await store.write((writer) =>
      spoils[name]!(writer, writer.get<{ id: string }>(flightsOf(writer))!.id),
    )
    const { ok, findings } = await catalog.verify()
    expect(ok).toBe(false)
    const texts = findings.map(({ message }) => message)
    expect(texts.filter((text) => says.test(text) && text.includes(JSON.stringify(key)))).toHaveLength(1)
  })

  it('what a process left behind is harmless', async () => {
    await open()
    await store.write((writer) => {
      const record = { v: 1, status: 'Running', operation: 'X', created_at: 1, properties: {}, subject: [] }
      writer.put(keys.transaction('01'), { ...record, lease_until: 5 })
      writer.put(keys.location(['s3:', 'x']), { v: 1, removing: 's3://x', until: 5 })
    })
    const { ok, findings } = await catalog.verify()
    expect(ok).toBe(true)
    expect(findings.map(({ severity }) => severity)).toEqual(['harmless', 'harmless'])
  })

  it('a catalog behind a server refuses', async () => {
    const remote = (await openCatalog('http://localhost:1')) as LocalCatalog
    await fails(remote.verify(), 'Unsupported', 'where the catalog lies')
    await fails(remote.backup('/nowhere'), 'Unsupported', 'where the catalog lies')
  })
})
