import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openCatalog } from '../../src/tabularium/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { missingPostgres } from '../support/postgres.ts'
import { limitEach } from '../support/time-limit.ts'
import { Child } from './child-process.ts'
import { databasePlace } from './database-place.ts'

limitEach(120)

const id = ['shared']
const processes = ['p0', 'p1', 'p2']
/** What each process has recorded when one is killed, and what the others record after it. */
const enough = 60

const places = {
  'a directory': async () => {
    const location = await temporaryDirectory()
    return { location, dispose: () => rm(location, { recursive: true, force: true }) }
  },
  PostgreSQL: databasePlace,
}

describe.each(Object.entries(places))('writers of one table by several processes, in %s', (name, place) => {
  test.skipIf(name === 'PostgreSQL' && missingPostgres)(
    'record each version once, when one is killed and one is paused',
    async () => {
      const { location, dispose } = await place()
      onTestFinished(dispose)
      const catalog = await openCatalog(location as `postgres://${string}`)
      onTestFinished(() => catalog.close())
      await catalog.declareTable({ id })
      const children = processes.map((me) => new Child('test/processes/versions-child.ts', [location, me]))
      onTestFinished(() => {
        for (const child of children) child.stop()
      })
      const [first, second, third] = children as [Child, Child, Child]
      // One of them wins all races for as long as it is the only one.
      for (const child of children) await child.wrote(enough)
      await first.kill()
      // In a directory, a process that is paused amid a commit keeps the lock, and all others wait for it.
      second.pause()
      if (name === 'PostgreSQL') await third.wrote(third.lines.length + enough)
      else await sleep(1_000)
      second.goOn()
      for (const child of [second, third]) await child.wrote(child.lines.length + enough)
      for (const child of [second, third]) child.end()
      for (const child of [second, third]) await child.ended()

      const found: string[] = []
      for (let page: string | null | undefined; page !== null; ) {
        const answer = await catalog.listTableVersions({ id, ...(page && { page_token: page }) })
        for (const { version, manifest_path } of answer.versions) found.push(`${version} ${manifest_path}`)
        page = answer.page_token ?? null
      }
      found.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
      expect(found.map((one) => Number.parseInt(one, 10))).toEqual(found.map((_, i) => i + 1))
      const recorded = children.flatMap(({ lines }) => lines.filter((line) => /^\d/.test(line)))
      const known = new Set(found)
      expect(recorded.filter((one) => !known.has(one))).toEqual([])
      expect(new Set(found.map((one) => one.split(' ')[1])).size).toBe(found.length)
      // Only the killed process may have recorded what it did not print.
      for (const one of recorded) known.delete(one)
      expect([...known].filter((one) => !one.includes('p0/'))).toEqual([])
    },
  )
})
