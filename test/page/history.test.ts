import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BranchVersions, drawnBranches, historyOf, type Version } from '../../src/page/model/history.ts'

/** Branches that grow at random times, each from a version of an earlier one. Times may be equal. */
const histories = fc
  .array(fc.record({ kind: fc.nat({ max: 3 }), at: fc.nat(), pause: fc.nat({ max: 1 }) }), { maxLength: 60 })
  .map((steps) => {
    const branches = [{ name: '', versions: [{ version: 1, timestamp_millis: 0 }] as Version[] }] as {
      name: string
      parentBranch?: string
      parentVersion?: number
      versions: Version[]
    }[]
    let now = 0
    for (const { kind, at, pause } of steps) {
      now += pause
      const branch = branches[at % branches.length]!
      const last = branch.versions.at(-1)!
      if (kind > 0) branch.versions.push({ version: last.version + 1, timestamp_millis: now })
      else {
        const from = branch.versions[at % branch.versions.length]!
        const parent = branch.name === '' ? {} : { parentBranch: branch.name }
        branches.push({
          name: `b${branches.length}`,
          ...parent,
          parentVersion: from.version,
          versions: [from],
        })
      }
    }
    return branches.map(
      (branch): BranchVersions => ({ ...branch, versions: branch.versions.toReversed(), ended: true }),
    )
  })

/** Where a branch begins: a version that its parent shares with its own parent was made there. */
function madeOn(
  branches: readonly BranchVersions[],
  { parentBranch = '', parentVersion }: BranchVersions,
): string {
  const parent = branches.find(({ name }) => name === parentBranch)!
  const isShared = parentBranch !== '' && parentVersion === parent.parentVersion
  return isShared ? madeOn(branches, parent) : `${parentBranch}@${parentVersion}`
}

describe('the graph of versions', () => {
  it('has each version once, latest first, with lanes that lead from a branch to where it began', () => {
    fc.assert(
      fc.property(histories, (branches) => {
        const { rows, wants } = historyOf(branches)
        expect(wants).toBeUndefined()
        const own = branches.flatMap(({ name, parentVersion, versions }) =>
          versions
            .filter(({ version }) => name === '' || version !== parentVersion)
            .map(({ version }) => `${name}@${version}`),
        )
        expect(rows.map(({ branch, version }) => `${branch}@${version.version}`).sort()).toEqual(own.sort())
        const laneOf = new Map<string, number>()
        for (const [index, row] of rows.entries()) {
          const next = rows[index + 1]
          if (next) {
            expect(row.version.timestamp_millis).toBeGreaterThanOrEqual(next.version.timestamp_millis!)
            expect(next.above).toEqual(row.below)
          } else expect(row.below).toEqual([])
          expect(new Set(row.below).size).toBe(row.below.length)
          const isFirst = !laneOf.has(row.branch)
          expect(row.above.includes(row.lane)).toBe(!isFirst)
          expect(row.heads.includes(row.branch)).toBe(isFirst)
          if (!isFirst) expect(row.lane).toBe(laneOf.get(row.branch))
          laneOf.set(row.branch, row.lane)
          const begun = branches.filter(
            (branch) =>
              branch.name !== '' && madeOn(branches, branch) === `${row.branch}@${row.version.version}`,
          )
          const grown = begun.filter(({ name }) => laneOf.has(name))
          expect([...row.forks].sort()).toEqual(grown.map(({ name }) => laneOf.get(name)!).sort())
          for (const fork of row.forks)
            expect([row.above.includes(fork), row.below.includes(fork)]).toEqual([true, false])
          const idle = begun.filter(({ name }) => !laneOf.has(name)).map(({ name }) => name)
          expect(row.heads.filter((name) => name !== row.branch)).toEqual(idle)
        }
      }),
    )
  })

  it('begins with the same rows while pages are missing, and names the branch that it waits for', () => {
    fc.assert(
      fc.property(histories, fc.array(fc.nat({ max: 5 }), { minLength: 60 }), (branches, sizes) => {
        const whole = historyOf(branches).rows
        const pages = branches.map(() => 1)
        for (let round = 0; ; round++) {
          const known = branches.map((branch, index) => ({
            ...branch,
            versions: branch.versions.slice(0, pages[index]),
            ended: pages[index]! >= branch.versions.length,
          }))
          const { rows, wants } = historyOf(known)
          const names = rows.map(({ branch, version, before }) => [branch, version.version, before])
          expect(names).toEqual(
            whole
              .slice(0, rows.length)
              .map(({ branch, version, before }) => [branch, version.version, before]),
          )
          if (wants === undefined) {
            expect(rows.length).toBe(whole.length)
            return
          }
          const index = branches.findIndex(({ name }) => name === wants)
          expect(known[index]!.ended).toBe(false)
          pages[index]! += 1 + sizes[round % sizes.length]!
        }
      }),
    )
  })

  it('draws few branches, among them the one that is shown and those it comes from', () => {
    const branches = Array.from({ length: 50 }, (_, index) => ({
      name: `b${index}`,
      ...(index > 0 && { parentBranch: `b${index - 1}` }),
      parentVersion: 1,
    }))
    expect(drawnBranches(branches, undefined, 3).map(({ name }) => name)).toEqual(['', 'b0', 'b1', 'b2'])
    expect(drawnBranches(branches, 'b40', 3).map(({ name }) => name)).toEqual(['', 'b38', 'b39', 'b40'])
    expect(drawnBranches(branches, 'none', 2).length).toBeLessThanOrEqual(3)
  })

  it('ends for versions without times, and for branches whose beginning is deleted', () => {
    const { rows } = historyOf([
      { name: '', versions: [{ version: 9 }, { version: 8 }], ended: true },
      { name: 'old', parentVersion: 3, versions: [{ version: 5 }, { version: 4 }], ended: true },
    ])
    expect(rows.map(({ version }) => version.version)).toEqual([5, 4, 9, 8])
    expect(rows.at(-1)!.below).toEqual([])
  })
})
