import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CatalogError } from '../../../src/tabularium/index.ts'
import { eachCatalog } from '../../support/catalogs.ts'

/*
 * Reading by time over random histories, beside a plain list of versions and times. The clock may go back.
 */

const id = ['t']
const start = Date.UTC(2026, 10, 1)
const factor = Number(process.env.HISTORY_RUNS ?? 1)

type Branch = '' | 'b'
type Step =
  | { readonly kind: 'clock'; readonly by: number }
  | { readonly kind: 'insert' | 'transaction' | 'restore'; readonly branch: Branch }
  | { readonly kind: 'delete'; readonly branch: Branch; readonly from: number; readonly count: number }

const branch = fc.constantFrom<Branch>('', 'b')
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('clock' as const), by: fc.integer({ min: -20, max: 60 }) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('insert' as const), branch }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('transaction', 'restore'), branch }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      branch,
      from: fc.integer({ min: 1, max: 9 }),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
)

interface Made {
  readonly version: number
  readonly time: number
  readonly rows: number
}

/** The versions of a branch that exist, and the time of the last one that ever did. */
interface Line {
  versions: Made[]
  last: number
}

function make(line: Line, now: number, rows: number): void {
  const before = line.versions.at(-1)
  line.versions.push({ version: ++line.last, time: Math.max(now, before?.time ?? now), rows })
}

/** The rows at a time, by looking at each version; a text for a refusal. */
function rowsAt({ versions }: Line, at: number, now: number): number | string {
  if (at > now) return 'InvalidInput'
  const until = versions.filter(({ time }) => time <= at)
  const [found, next] = [until.at(-1), versions[until.length]]
  if (found === undefined || (next !== undefined && next.version > found.version + 1))
    return 'TableVersionNotFound'
  return found.rows
}

describe('reading by time', () => {
  eachCatalog((open) => {
    it('no version of a transaction is earlier than the one before it, when the clock goes back', async () => {
      let now = start + 100
      await using catalog = await open({ now: () => now })
      await catalog.createTable({ id, data: [{ n: 0 }] })
      now = start
      await catalog.transaction((tx) => tx.insertIntoTable({ id, data: [{ n: 1 }] }))
      const { versions } = await catalog.listTableVersions({ id })
      expect(versions.map(({ timestamp_millis }) => timestamp_millis)).toEqual([start + 100, start + 100])
    })

    it('equals a list of versions and times, at every time of a random history', async () => {
      const runs = (open.kind === 'memory' && !open.remote ? 25 : 5) * factor
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 22 }), async (steps) => {
          let now = start
          await using catalog = await open({ now: () => now })
          const lines: Record<Branch, Line> = { '': { versions: [], last: 0 }, b: { versions: [], last: 0 } }
          await catalog.createTable({ id, data: [{ n: 0 }] })
          make(lines[''], now, 1)
          now += 5
          await catalog.createTableBranch({ id, name: 'b' })
          lines.b = { versions: [...lines[''].versions], last: 1 }
          for (const step of steps) {
            if (step.kind === 'clock') {
              now = Math.max(start, now + step.by)
              continue
            }
            const line = lines[step.branch]
            const request = { id, branch: step.branch }
            const rows = line.versions.at(-1)!.rows
            if (step.kind === 'delete') {
              const versions = line.versions.slice(0, -1)
              const range = {
                start_version: step.from,
                end_version: Math.min(step.from + step.count, line.versions.at(-1)!.version),
              }
              if (range.end_version <= range.start_version) continue
              await catalog.batchDeleteTableVersions({ ...request, ranges: [range] })
              const kept = versions.filter(
                ({ version }) => version < range.start_version || version >= range.end_version,
              )
              line.versions = [...kept, line.versions.at(-1)!]
            } else if (step.kind === 'insert') {
              await catalog.insertIntoTable({ ...request, data: [{ n: now }] })
              make(line, now, rows + 1)
            } else if (step.kind === 'restore') {
              const { version, rows } = line.versions[0]!
              if (version === line.last) continue
              await catalog.restoreTable({ ...request, version })
              make(line, now, rows)
            } else {
              await catalog.transaction(async (tx) => {
                await tx.insertIntoTable({ ...request, data: [{ n: now }] })
                await tx.deleteFromTable({ ...request, predicate: 'n = 0' })
                await tx.insertIntoTable({ ...request, data: [{ n: 0 }] })
                // The commit comes later than what is in it.
                now += 7
              })
              const made = (await catalog.listTableVersions(request)).versions
              for (const { version } of made.filter(({ version }) => version > line.last)) {
                const { count } = await catalog.countTableRows({ ...request, version })
                make(line, now, count)
              }
              expect(line.versions.at(-1)!.time).toBeGreaterThanOrEqual(now)
            }
          }
          const times = new Set(
            Object.values(lines).flatMap(({ versions }) =>
              versions.flatMap(({ time }) => [time - 1, time, time + 1]),
            ),
          )
          for (const at of [...times, start - 1, now, now + 1]) {
            for (const branch of ['', 'b'] as const) {
              const asked = { id, branch, at: new Date(at) }
              const found = await catalog.countTableRows(asked).then(
                ({ count }) => count,
                (error) => (error as CatalogError).code,
              )
              expect([at - start, branch, found]).toEqual([
                at - start,
                branch,
                rowsAt(lines[branch], at, now),
              ])
            }
          }
          for (const branch of ['', 'b'] as const) {
            const { versions } = await catalog.listTableVersions({ id, branch })
            expect(versions.map(({ version, timestamp_millis }) => [version, timestamp_millis])).toEqual(
              lines[branch].versions.map(({ version, time }) => [version, time]),
            )
          }
        }),
        { numRuns: runs },
      )
    })
  })
})
