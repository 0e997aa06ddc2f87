import { symlink, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { fileContent } from '../../../src/contents/files/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { lance, lanceIt } from '../../support/lance-package.ts'
import { countOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'
import { nameOf } from './support.ts'

limitEach(120)

/* A read leaves out what it has done before, where no file changed since. So others change files at any moment. */

/** Longer than the clock of a file system stands still. */
const longPause = 120

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** What happens to a table, and how many times it is read after that. */
const steps = fc.array(
  fc.record({
    by: fc.constantFrom('us' as const, 'another handle' as const, 'past the catalog' as const),
    pause: fc.constantFrom(0, 0, 5, longPause),
    reads: fc.integer({ min: 0, max: 3 }),
    between: fc.constantFrom(0, longPause),
  }),
  { minLength: 2, maxLength: 6 },
)

/** A table of Lance with a row, and a connection to its folder that knows no catalog. */
async function tableOfLance() {
  const root = await freshFolder()
  const catalog = closedAfterwards(await openCatalog(root, { format: 'lance' }))
  const other = closedAfterwards(await openCatalog(root, { format: 'lance' }))
  const id = ['docs']
  await catalog.createTable({ id, data: [{ n: 0 }] })
  const { location } = await catalog.describeTable({ id })
  const folder = fileURLToPath(location!)
  const linked = await freshFolder()
  await symlink(folder, join(linked, 'docs.lance'))
  return { catalog, other, id, folder, linked }
}

describe('files that do not change', () => {
  lanceIt('reads find each version at once, whoever made it and whenever', async () => {
    const { catalog, other, id, linked } = await tableOfLance()
    let rows = 1
    await fc.assert(
      fc.asyncProperty(steps, async (asked) => {
        for (const { by, pause: before, reads, between } of asked) {
          await pause(before)
          if (by === 'us') await catalog.insertIntoTable({ id, data: [{ n: rows }] })
          else if (by === 'another handle') await other.insertIntoTable({ id, data: [{ n: rows }] })
          else await addPast(linked, rows)
          rows++
          for (let read = 0; read < reads; read++) {
            expect(await countOf(catalog, id)).toBe(rows)
            await pause(between)
          }
        }
        expect(await countOf(catalog, id)).toBe(rows)
        const { versions } = await catalog.listTableVersions({ id })
        expect(versions.length).toBe(rows)
      }),
      { numRuns: 6 },
    )
  })

  lanceIt('a manifest that is cut, or gone, is noticed by the next read', async () => {
    const { catalog, id, folder } = await tableOfLance()
    await catalog.insertIntoTable({ id, data: [{ n: 1 }] })
    for (let read = 0; read < 4; read++) {
      expect(await countOf(catalog, id)).toBe(2)
      await pause(longPause)
    }
    const files = fileContent(folder)
    const path = `_versions/${nameOf(2)}`
    const whole = (await files.get(path))!
    await truncate(join(folder, path), whole.length - 3)
    await expect(countOf(catalog, id)).rejects.toMatchObject({ code: 'InvalidTableState' })
    await files.remove(path)
    expect(await countOf(catalog, id)).toBe(1)
    await files.put(path, whole)
    expect(await countOf(catalog, id)).toBe(2)
  })

  lanceIt(
    'a file has another state after each change of it, and a folder after each of its names',
    async () => {
      const content = fileContent(await freshFolder())
      const states = new Set<string>()
      const see = async (path: string) => {
        const { text, millis } = (await content.shared!.state!(path))!
        expect(states.has(text)).toBe(false)
        states.add(text)
        await pause(millis)
      }
      expect(await content.shared!.state!('a/')).toBeUndefined()
      await content.put('a/x', new Uint8Array(2))
      expect(await content.shared!.state!('a/y')).toBeUndefined()
      await see('a/')
      await see('a/x')
      await content.put('a/y', new Uint8Array(2))
      await see('a/')
      await content.shared!.link('a/x', 'a/z')
      await see('a/')
      await content.remove('a/y')
      await see('a/')
      await content.shared!.replace('a/x', new Uint8Array(2))
      await see('a/x')
      const { text } = (await content.shared!.state!('a/x'))!
      expect(states.has(text)).toBe(true)
    },
  )
})

/** Adds a row as a writer of Lance does that was never told of the catalog. */
async function addPast(linked: string, n: number): Promise<void> {
  const db = await lance.connect(linked)
  const table = await db.openTable('docs')
  await table.add([{ n }])
  table.close()
  db.close()
}
