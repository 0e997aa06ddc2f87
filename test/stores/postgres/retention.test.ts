import { describe, expect, test } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(120)

const rounds = 12 * Number(process.env.HISTORY_RUNS ?? 1)
const id = ['t']

describe.skipIf(missingPostgres)('retention over PostgreSQL', () => {
  test('one of three servers has a rule: what the others tag, branch or name in transactions stays', async () => {
    const url = (await (await sharedServer()).freshUrl()) as `postgres://${string}`
    const content = memoryContent()
    await using ruled = await openCatalog(url, { content, retention: { versions: 2 }, transactionCount: 20 })
    await using one = await openCatalog(url, { content })
    await using two = await openCatalog(url, { content, transactionCount: 20 })
    await one.createTable({ id, data: [{ x: 1 }] })
    const named = new Map<string, number>()
    let removed = 0
    const unlessGone = async (work: Promise<unknown>) =>
      work.then(
        () => true,
        (error) => {
          expect(error).toMatchObject({ message: expect.stringContaining('Retention removed version') })
          return false
        },
      )
    for (let round = 0; round < rounds; round++) {
      for (let n = 0; n < 4; n++)
        await [one, two, ruled][(round + n) % 3]!.insertIntoTable({ id, data: [{ x: 1 }] })
      const numbers = (await one.listTableVersions({ id })).versions.map(({ version }) => version)
      const at = (n: number) => numbers[(round * 7 + n) % numbers.length]!
      const read = async (version: number) =>
        two.transaction(async (tx) => {
          // Version n has n rows.
          for (let n = 0; n < 3; n++) {
            expect((await tx.countTableRows({ id, version, predicate: 'x > 0' })).count).toBe(version)
            await new Promise((resolve) => setTimeout(resolve, round % 5))
          }
        })
      const tag = async (version: number) => {
        const name = `t${round}`
        if (await unlessGone(one.createTableTag({ id, tag: name, version }))) named.set(name, version)
      }
      const branch = async (version: number) => {
        const name = `b${round}`
        if (await unlessGone(two.createTableBranch({ id, name, from_version: version })))
          named.set(name, version)
      }
      const sweep = async () => {
        if (round % 2 > 0) await new Promise((resolve) => setTimeout(resolve, (round * 3) % 7))
        removed += (await ruled.vacuum({ graceMillis: 0 })).versions ?? 0
      }
      await Promise.all([
        sweep(),
        unlessGone(read(at(0))),
        tag(at(1)),
        branch(at(2)),
        unlessGone(read(at(3))),
      ])
      // Readers pin the table in most rounds.
      if (round % 3 === 2) await sweep()
      const there = new Set((await two.listTableVersions({ id })).versions.map(({ version }) => version))
      for (const version of named.values()) expect(there).toContain(version)
    }
    expect(removed).toBeGreaterThan(rounds)
    await ruled.vacuum({ graceMillis: 0 })
    const latest = 1 + 4 * rounds
    const kept = new Set([...named.values(), latest, latest - 1])
    const left: number[] = []
    for await (const { version } of one.versions({ id })) {
      expect((await one.countTableRows({ id, version, predicate: 'x > 0' })).count).toBe(version)
      left.push(version)
    }
    expect(left.sort((a, b) => a - b)).toEqual([...kept].sort((a, b) => a - b))
    expect((await one.verify()).findings.filter(({ severity }) => severity === 'problem')).toEqual([])
    // A server without the rule tells the reason, too.
    const missing = [...Array(latest).keys()].find((n) => n > 0 && !kept.has(n))!
    await expect(two.countTableRows({ id, version: missing })).rejects.toMatchObject({
      code: 'TableVersionNotFound',
      message: expect.stringMatching(/^Retention removed version \d+ of the table t at 20/),
    })
  })
})
