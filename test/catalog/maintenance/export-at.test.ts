import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { eachCatalog, eachLocalCatalog, freshFolder, stoppedClock } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'

const minute = 60_000
const factor = Number(process.env.HISTORY_RUNS ?? 1)

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom('create', 'insert', 'insert', 'delete', 'namespace', 'branch', 'drop', 'move'),
    n: fc.nat({ max: 100 }),
    minutes: fc.nat({ max: 3 }),
  }),
  { minLength: 4, maxLength: 14 },
)

/** What a catalog shows: the rows of each table, and the heads of its branches. */
async function shown(catalog: Awaited<ReturnType<typeof openCatalog>>): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for await (const id of catalog.allTables()) {
    const branches: Record<string, number> = {}
    for await (const { name } of catalog.branches({ id })) {
      const { versions } = await catalog.listTableVersions({ id, branch: name })
      branches[name] = versions.length
    }
    const { version } = await catalog.describeTable({ id, load_detailed_metadata: true })
    const rows: unknown[] = []
    if (version !== undefined) for await (const row of catalog.rows({ id, version })) rows.push(row)
    found[id.join('.')] = { version, rows, branches }
  }
  return found
}

describe('an export at a time', () => {
  eachLocalCatalog((open) => {
    it('has the tables of then, for each time of a random history', async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (steps) => {
          const clock = stoppedClock()
          await using catalog = await open({ now: clock })
          await catalog.createTable({ id: ['t'], data: [{ x: 0 }] })
          let tables = ['t']
          const states: { at: string; state: Record<string, unknown> }[] = []
          for (const [i, { kind, n, minutes }] of steps.entries()) {
            const name = tables[n % tables.length]!
            const id = name.split('.')
            if (kind === 'create') {
              await catalog.createTable({ id: [`t${i}`], data: [{ x: i }] })
              tables.push(`t${i}`)
            } else if (kind === 'insert') await catalog.insertIntoTable({ id, data: [{ x: i }] })
            else if (kind === 'delete') await catalog.deleteFromTable({ id, predicate: `x % 3 = ${n % 3}` })
            else if (kind === 'namespace') await catalog.createNamespace({ id: [`n${i}`] })
            else if (kind === 'branch') {
              await catalog.createTableBranch({ id, name: `b${i}` })
              await catalog.insertIntoTable({ id, branch: `b${i}`, data: [{ x: i }] })
            } else if (tables.length > 1) {
              // What is dropped, or has another name now, was never there under the old one.
              const to = kind === 'move' ? [`m${i}`] : undefined
              if (to) await catalog.renameTable({ id, new_table_name: to[0]! })
              else await catalog.dropTable({ id })
              tables = tables.filter((one) => one !== name).concat(to?.join('.') ?? [])
              for (const one of states) {
                const { [name]: before, ...others } = one.state
                one.state = before && to ? { ...others, [to.join('.')]: before } : others
              }
            }
            states.push({ at: new Date(clock()).toISOString(), state: await shown(catalog) })
            clock.move(1 + minutes * minute)
          }
          for (const { at, state } of states) {
            const folder = join(await freshFolder(), 'files')
            await catalog.exportTo(folder, { at, history: true })
            await using other = await openCatalog('memory:')
            await other.importFrom(folder)
            expect(await shown(other)).toEqual(state)
            expect((await other.verify()).findings).toEqual([])
          }
        }),
        { numRuns: (open.kind === 'memory' ? 8 : 2) * factor },
      )
    })

    it('refuses what is no time, a time to come, and one whose versions were removed', async () => {
      const clock = stoppedClock()
      const catalog = await open({ now: clock })
      const id = ['t']
      await catalog.createTable({ id, data: [{ x: 0 }] })
      for (let x = 1; x < 4; x++) {
        clock.move(minute)
        await catalog.insertIntoTable({ id, data: [{ x }] })
      }
      const folder = join(await freshFolder(), 'files')
      await fails(catalog.exportTo(folder, { at: 'yesterday' }), 'InvalidInput', 'at must be a time')
      const later = new Date(clock() + minute)
      await fails(catalog.exportTo(folder, { at: later }), 'InvalidInput', 'still to come')
      await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 2, end_version: 4 }] })
      const then = new Date(clock() - minute)
      await fails(catalog.exportTo(folder, { at: then }), 'TableVersionNotFound', 'the table t', 'removed')
      expect((await catalog.exportTo(folder, { at: new Date(clock()) })).rows).toBe(4)
    })
  })

  eachCatalog((open) => {
    it('as rows are gone over by time, in pages of one version', async () => {
      const clock = stoppedClock()
      const catalog = await open({ now: clock })
      const id = ['t']
      await catalog.createTable({ id, data: Array.from({ length: 2_500 }, (_, x) => ({ x })) })
      const at = new Date(clock()).toISOString()
      clock.move(minute)
      await catalog.deleteFromTable({ id, predicate: 'x >= 0' })
      let rows = 0
      for await (const _ of catalog.rows({ id, at })) rows++
      expect(rows).toBe(2_500)
    })
  })
})
