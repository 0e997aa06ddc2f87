import { readdirSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { describe, expect } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { Child } from '../../processes/child-process.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { countOf, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(240)

/* Processes that make tables of Lance and change one together, killed in the middle. */

describe('kills beside tables of Lance', () => {
  lanceIt.each(['in this process', 'isolated'])(
    'what was acknowledged is there once, nothing is there in part, and leftovers go: Lance %s',
    async (lance) => {
      const directory = join(await freshFolder(), 'catalog')
      /** How many turns of each process were acknowledged. */
      const turns = new Map<string, number>()
      for (let kill = 0; kill < 6; kill++) {
        const words = [`a${kill}`, `b${kill}`]
        const children = words.map(
          (word) => new Child('test/catalog/lance/kills-child.ts', [directory, word, lance]),
        )
        await Promise.all(children.map((child) => child.said('ready')))
        // Each is killed at another place of its turn.
        await Promise.all(children.map((child, i) => child.wrote(4 + ((kill * 3 + i) % 5))))
        await new Promise((resolve) => setTimeout(resolve, (kill * 7) % 23))
        for (const [i, child] of children.entries()) {
          await child.kill()
          turns.set(words[i]!, child.lines.length - 1)
        }
      }
      // Later, when the leases of those who were killed have ended.
      const now = () => Date.now() + 10 * 60_000
      await using catalog = await openCatalog(directory, { format: 'lance', now })
      const { tables } = await catalog.listAllTables({})
      const shared = await rowsOf(catalog, ['shared'])
      for (const [word, acknowledged] of turns) {
        for (let turn = 0; turn <= acknowledged; turn++) {
          const name = `${word}_${turn}`
          const isSure = turn < acknowledged
          const inShared = shared.filter((row) => row.word === word && Number(row.n) === turn).length
          const isInShared = turn % 4 === 1 || turn % 4 === 3
          if (isSure || !isInShared) expect([name, inShared]).toEqual([name, isInShared ? 1 : 0])
          else expect(inShared).toBeLessThanOrEqual(1)
          if (turn % 4 === 1) continue
          const isThere = tables.includes(name)
          if (isSure) expect([name, isThere]).toEqual([name, true])
          // Both tables of a transaction, or none of them.
          if (turn % 4 === 3) expect([name, isThere]).toEqual([name, inShared === 1])
          if (!isThere) continue
          const count = await countOf(catalog, [name], { predicate: 'n >= 0' }).catch(
            ({ message }) => message,
          )
          const isDeclared = !isSure && turn % 4 === 2 && String(count).includes('is declared')
          if (!isDeclared) expect([name, count]).toEqual([name, turn + 1])
        }
      }
      await catalog.vacuum({ graceMillis: 0 })
      await catalog.vacuum({ graceMillis: 0 })
      const locations = await Promise.all(tables.map((name) => catalog.describeTable({ id: [name] })))
      const known = new Set(locations.map(({ location }) => basename(location!)))
      const left = readdirSync(join(directory, 'tables'), { recursive: true, withFileTypes: true })
        .filter((found) => found.isFile())
        .map((found) => relative(join(directory, 'tables'), join(found.parentPath, found.name)))
        .filter((path) => !known.has(path.split('/')[0]!))
      expect(left).toEqual([])
      for (const name of tables) {
        const count = await countOf(catalog, [name], { predicate: 'n >= -1' }).catch(({ message }) => message)
        if (!String(count).includes('is declared')) expect([name, count]).toEqual([name, expect.any(Number)])
      }
      expect(await catalog.verify()).toMatchObject({ ok: true, problems: 0 })
    },
  )
})
