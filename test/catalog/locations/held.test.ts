import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openCatalog, restoreCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, eachLocalCatalog, freshFolder } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'

const hour = 3_600_000
const start = Date.UTC(2026, 10, 1)
const factor = Number(process.env.HISTORY_RUNS ?? 1)

/** A table of the model: its rows in all versions, and its tags. */
interface Table {
  readonly versions: number[]
  readonly tags: Map<string, number>
}

interface Held {
  readonly name: string
  readonly table: Table
  readonly until: number
}

const names = ['a', 'b', 'n.a', 'n.b'] as const
const name = fc.constantFrom(...names)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('create', 'insert', 'tag', 'drop'), name }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('undrop', 'overwrite', 'clone', 'rename'), name }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('purge', 'dropped', 'cascade'), name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('vacuum', 'clock', 'transaction'), name }) },
)

describe('dropped tables are held', () => {
  eachLocalCatalog((open) => {
    it('for their period, through random histories: none is lost within it, and none stays after it', async () => {
      const runs = (open.kind === 'memory' ? 25 : 4) * factor
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
          let now = start
          await using catalog = await open({ now: () => now, retainDropped: hour })
          await catalog.createNamespace({ id: ['n'] })
          const tables = new Map<string, Table>()
          let held: Held[] = []
          const idOf = (name: string) => name.split('.')
          const drop = (name: string) => {
            held.push({ name, table: tables.get(name)!, until: now + hour })
            tables.delete(name)
          }
          const make = (name: string) => tables.set(name, { versions: [1], tags: new Map() })
          for (const { kind, name } of steps) {
            const id = idOf(name)
            const table = tables.get(name)
            const of = held.filter((one) => one.name === name)
            now++
            if (kind === 'clock') {
              now += 25 * 60_000
            } else if (kind === 'vacuum') {
              await catalog.vacuum({ graceMillis: 0 })
              held = held.filter(({ until }) => until > now)
            } else if (kind === 'create' && !table) {
              await catalog.createTable({ id, data: [{ x: 0 }] })
              make(name)
            } else if (kind === 'overwrite') {
              await catalog.createTable({ id, data: [{ x: 0 }], mode: 'Overwrite' })
              if (table) drop(name)
              make(name)
            } else if (kind === 'insert' && table) {
              await catalog.insertIntoTable({ id, data: [{ x: 1 }] })
              table.versions.push(table.versions.at(-1)! + 1)
            } else if (kind === 'tag' && table) {
              const tag = `t${table.versions.length}`
              const call = catalog.createTableTag({ id, tag, version: table.versions.length })
              if (table.tags.has(tag)) await fails(call, 'TableTagAlreadyExists', tag)
              else await call
              table.tags.set(tag, table.versions.length)
            } else if (kind === 'drop') {
              const call = catalog.dropTable({ id })
              if (!table) await fails(call, 'TableNotFound', 'no table')
              else {
                await call
                drop(name)
              }
            } else if (kind === 'dropped' && table) {
              await catalog.dropTable({ id, purge: true })
              tables.delete(name)
            } else if (kind === 'undrop') {
              const call = catalog.undropTable({ id })
              if (of.length === 0) await fails(call, 'TableNotFound', 'No dropped table')
              else if (table) await fails(call, 'TableAlreadyExists', 'already exists')
              else {
                await call
                const back = of.at(-1)!
                tables.set(name, back.table)
                held = held.filter((one) => one !== back)
              }
            } else if (kind === 'purge') {
              const call = catalog.purgeTable({ id })
              if (of.length === 0) await fails(call, 'TableNotFound', 'No dropped table')
              else expect((await call).purged).toBe(of.length)
              held = held.filter((one) => one.name !== name)
            } else if (kind === 'clone' && table && !tables.has('a')) {
              await catalog.cloneTable({ id: ['a'], source: id })
              tables.set('a', { versions: [table.versions.at(-1)!], tags: new Map() })
            } else if (kind === 'rename' && table && !tables.has('b')) {
              await catalog.renameTable({ id, new_table_name: 'b', new_namespace_id: [] })
              tables.set('b', table)
              tables.delete(name)
            } else if (kind === 'cascade') {
              await catalog.dropNamespace({ id: ['n'], behavior: 'Cascade' })
              for (const one of [...tables.keys()]) if (one.startsWith('n.')) drop(one)
              if (held.some(({ name }) => name === 'n.a'))
                await fails(catalog.undropTable({ id: ['n', 'a'] }), 'NamespaceNotFound', 'no namespace n')
              await catalog.createNamespace({ id: ['n'] })
            } else if (kind === 'transaction' && table) {
              // Dropped and brought back in one commit, or dropped with nothing left of a failed one.
              await catalog.transaction(async (tx) => {
                await tx.dropTable({ id })
                expect(
                  (await tx.listDroppedTables({ id: [] })).dropped.some((one) => one.id.join('.') === name),
                ).toBe(true)
                await tx.undropTable({ id })
              })
              const failed = catalog.transaction(async (tx) => {
                await tx.dropTable({ id })
                throw new Error('given up')
              })
              await expect(failed).rejects.toThrow('given up')
            }
            const listed = (await catalog.listDroppedTables({ id: [] })).dropped
            expect(listed.map(({ id }) => id.join('.')).sort()).toEqual(held.map(({ name }) => name).sort())
          }
          await catalog.vacuum({ graceMillis: 0 })
          held = held.filter(({ until }) => until > now)
          // What is held is whole: each comes back under another name.
          for await (const { id, table_id } of catalog.droppedTables({ id: [] })) {
            await catalog.undropTable({
              id,
              table_id,
              new_table_name: `back-${table_id}`,
              new_namespace_id: [],
            })
          }
          const all: Table[] = [...tables.values(), ...held.map(({ table }) => table)]
          const found: string[] = []
          for await (const id of catalog.allTables()) {
            const counts: number[] = []
            for await (const { version } of catalog.versions({ id }))
              counts.push((await catalog.countTableRows({ id, version, predicate: 'x >= 0' })).count)
            const tags: [string, number][] = []
            for await (const { name, version } of catalog.tags({ id })) tags.push([name, version])
            found.push(JSON.stringify([counts, tags.sort()]))
          }
          expect(found.sort()).toEqual(
            all.map(({ versions, tags }) => JSON.stringify([versions, [...tags].sort()])).sort(),
          )
          const verified = await catalog.verify()
          expect(verified.findings.filter(({ severity }) => severity === 'problem')).toEqual([])
          // After their period nothing of the dropped ones stays.
          for await (const id of catalog.allTables()) await catalog.dropTable({ id })
          now += hour
          await catalog.vacuum({ graceMillis: 0 })
          expect((await catalog.listDroppedTables({ id: [] })).dropped).toEqual([])
          const { examined } = await catalog.vacuum({ graceMillis: 0, dryRun: true })
          expect(examined).toBe(0)
        }),
        { numRuns: runs },
      )
    })

    it('rows of acknowledged changes are there, and no change goes to a table that is dropped', async () => {
      const catalog = await open({ retainDropped: hour })
      const id = ['t']
      for (let round = 0; round < 3; round++) {
        await catalog.createTable({ id, data: [{ x: 0 }] })
        let acknowledged = 1
        const insert = () =>
          catalog.insertIntoTable({ id, data: [{ x: 1 }] }).then(
            () => acknowledged++,
            (error) => expect(error).toMatchObject({ code: 'TableNotFound' }),
          )
        const inTransaction = () =>
          catalog
            .transaction(async (tx) => {
              await tx.insertIntoTable({ id, data: [{ x: 2 }, { x: 3 }] })
            })
            .then(
              () => {
                acknowledged += 2
              },
              (error) => expect(error).toMatchObject({ code: 'TableNotFound' }),
            )
        const work = [insert(), inTransaction(), insert(), inTransaction(), insert()]
        await catalog.dropTable({ id })
        await Promise.all([...work, insert(), inTransaction()])
        await catalog.undropTable({ id })
        expect((await catalog.countTableRows({ id })).count).toBe(acknowledged)
        await catalog.dropTable({ id, purge: true })
      }
    })

    it('the feed tells that they go and come, and the upkeep removes them', async () => {
      let now = start
      const catalog = await open({ now: () => now, retainDropped: hour, transactionCount: 20 })
      const changes: string[] = []
      const watching = catalog.watch()
      const seen = (async () => {
        for await (const { changes: some } of watching)
          for (const { id, effect } of some) {
            changes.push(`${id.join('.')} ${effect}`)
            if (changes.length === 6) return
          }
      })()
      const id = ['t']
      await catalog.createTable({ id, data: [{ x: 1 }] })
      await catalog.dropTable({ id })
      await catalog.undropTable({ id, new_table_name: 'u' })
      await catalog.renameTable({ id: ['u'], new_table_name: 't' })
      await catalog.dropTable({ id })
      await catalog.declareTable({ id: ['end'] })
      await seen
      expect(changes).toEqual(['t created', 't removed', 'u created', 'u moved', 't removed', 'end created'])
      now += hour
      for (let n = 0; n < 40; n++) await catalog.createNamespace({ id: [`n${n}`] })
      await expect.poll(async () => (await catalog.listDroppedTables({ id: [] })).dropped).toEqual([])
      await fails(catalog.undropTable({ id }), 'TableNotFound', 'No dropped table')
    })

    it('a location of a held table is not given to another one, and is once it was purged', async () => {
      const folder = await freshFolder()
      const catalog = await open({ retainDropped: hour, locationRoots: [folder] })
      const location = pathToFileURL(join(folder, 't')).href
      await catalog.declareTable({ id: ['t'], location })
      await catalog.insertIntoTable({ id: ['t'], data: [{ x: 1 }] })
      await catalog.dropTable({ id: ['t'] })
      await fails(
        catalog.declareTable({ id: ['u'], location }),
        'TableAlreadyExists',
        'dropped table t',
        'purgeTable',
      )
      expect((await catalog.purgeTable({ id: ['t'] })).purged).toBe(1)
      await catalog.declareTable({ id: ['u'], location })
    })

    it('they are in a backup, and not in an export', async () => {
      if (open.kind !== 'lmdb') return
      const folder = await freshFolder()
      const catalog = await open({ retainDropped: hour })
      await catalog.createTable({ id: ['t'], data: [{ x: 1 }, { x: 2 }] })
      await catalog.createTable({ id: ['u'], data: [{ x: 1 }] })
      await catalog.dropTable({ id: ['t'] })
      await catalog.backup(join(folder, 'backup'))
      expect((await catalog.exportTo(join(folder, 'export'))).tables).toBe(1)
      await restoreCatalog(join(folder, 'backup'), join(folder, 'restored'))
      const restored = closedAfterwards(await openCatalog(join(folder, 'restored')))
      await restored.undropTable({ id: ['t'], new_table_name: 'back' })
      expect((await restored.countTableRows({ id: ['back'], predicate: 'x > 0' })).count).toBe(2)
      expect((await restored.verify()).findings).toEqual([])
    })

    it('no table is held by default, and each drop may leave it out', async () => {
      const catalog = await open()
      await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
      await catalog.dropTable({ id: ['t'] })
      expect((await catalog.listDroppedTables({ id: [] })).dropped).toEqual([])
      await fails(catalog.undropTable({ id: ['t'] }), 'TableNotFound', 'retainDropped')
    })

    it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '24h'])('a period of %j is refused', async (given) => {
      await fails(open({ retainDropped: given as number }), 'InvalidInput', 'retainDropped')
    })
  })
})
