import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { Child } from '../../processes/child-process.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { childrenOf } from '../../support/child-processes.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { countOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'
import { batchOf, filesAt, numbersFrom } from './arriving-support.ts'

limitEach(400)

/* Rows that arrive for tables of Lance, where a process is killed in the middle. */

const inAll = 1_800_000

describe('kills beside rows that arrive for tables of Lance', () => {
  lanceIt.each(['in this process', 'isolated'])(
    'what was acknowledged is there once, nothing is there in part, and leftovers go: Lance %s',
    async (lance) => {
      const directory = join(await freshFolder(), 'catalog')
      let inserts = 0
      let possible = 0
      const made: string[] = []
      for (let kill = 0; kill < 8; kill++) {
        const child = new Child('test/catalog/lance/arriving-kills-child.ts', [directory, `w${kill}`, lance])
        await child.said('ready')
        // Before each batch, and after the last one while its version is made.
        const steps = 1 + ((kill * 3) % 8)
        await child.wrote(1 + steps + Math.floor(Math.max(0, steps - 1) / 4))
        await sleep((kill * 37) % 120)
        await child.kill()
        for (const line of child.lines) {
          if (!/^\d+$/.test(line)) continue
          if (Number(line) % 3 === 1) made.push(`w${kill}_${line}`)
          else inserts++
        }
        possible++
      }
      const now = () => Date.now() + 10 * 60_000
      await using catalog = await openCatalog(directory, { format: 'lance', now })
      const { tables } = await catalog.listAllTables({})
      expect(tables).toEqual(expect.arrayContaining(made))
      for (const name of tables.filter((name) => name !== 'shared'))
        expect([name, await countOf(catalog, [name])]).toEqual([name, inAll])
      const times = ((await countOf(catalog, ['shared'])) - 1) / inAll
      expect(Number.isInteger(times) && times >= inserts && times <= inserts + possible).toBe(true)
      expect(await countOf(catalog, ['shared'], { predicate: 'n = 1' })).toBe(times)
      await catalog.vacuum({ graceMillis: 0 })
      for (const name of tables) {
        const { location } = await catalog.describeTable({ id: [name] })
        expect((await filesAt(location!)).arriving).toEqual([])
      }
      await catalog.insertIntoTable({ id: ['shared'], data: [{ n: 5 }] })
      expect(await catalog.verify()).toMatchObject({ ok: true, problems: 0 })
    },
  )

  lanceIt('only the process of Lance is killed: the rows go on where they were', async () => {
    const catalog = closedAfterwards(
      await openCatalog(join(await freshFolder(), 'catalog'), { format: 'lance', lance: { isolate: true } }),
    )
    const id = ['t']
    await catalog.createTable({ id, data: batchOf([-1]) })
    let killed = 0
    for (let turn = 0; turn < 3; turn++) {
      async function* source() {
        for (let i = 0; i < 6; i++) {
          yield batchOf(numbersFrom(i * 300_000, 300_000))
          const kill = () => {
            for (const pid of childrenOf(process.pid, 'lance/isolated/child')) {
              process.kill(pid, 'SIGKILL')
              killed++
            }
          }
          if (i % 3 === turn) setTimeout(kill, turn * 5)
        }
      }
      await catalog.insertIntoTable({ id, data: source() })
      expect(await countOf(catalog, id)).toBe((turn + 1) * inAll + 1)
    }
    expect(killed).toBeGreaterThan(0)
    expect((await catalog.listTableVersions({ id })).versions.length).toBe(4)
    const { location } = await catalog.describeTable({ id })
    expect((await filesAt(location!)).arriving).toEqual([])
  })
})
