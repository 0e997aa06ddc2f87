import { type ModelTable, type RetentionRule, recorded, type State, walk } from './state.ts'

/** The rule in force for a table: its own, or that of the catalog. */
export function ruleOf({ rules }: State, { properties }: ModelTable): RetentionRule | undefined {
  const versions = properties['tabularium.retention.versions']
  const age = properties['tabularium.retention.age']
  if (versions === undefined && age === undefined) return rules.retention
  if (versions === 'all') return undefined
  return {
    ...(versions !== undefined && { versions: Number(versions) }),
    // The histories write seconds only.
    ...(age !== undefined && { age: Number.parseInt(age, 10) * 1_000 }),
  }
}

/**
 * Removes the versions that rules let go, said as simply as can be. Those of `pinned` tables stay. Returns how many there
 * were.
 */
export function retain(state: State, grace: number, pinned: ReadonlySet<number>): number {
  let count = 0
  for (const [id, table] of walk(state.root, [])) {
    if (table.kind !== 'table' || pinned.has(table.key)) continue
    const rule = ruleOf(state, table)
    const going = rule === undefined ? [] : goingOf(table, rule, state.now, grace)
    for (const { branch, version } of going) table.branches.get(branch)!.versions.delete(version)
    if (going.length > 0) recorded(state, 'BatchDeleteTableVersions', id, table)
    count += going.length
  }
  return count
}

function goingOf({ branches, tags }: ModelTable, rule: RetentionRule, now: number, grace: number) {
  const named = [...tags.values(), ...[...branches.values()].flatMap(({ parent }) => parent ?? [])]
  const age = Math.max(grace, rule.age ?? 0)
  return [...branches].flatMap(([branch, { latest, versions, parent }]) => {
    const numbers = [...versions.keys()].sort((a, b) => a - b)
    const newest = numbers.slice(rule.versions === undefined ? numbers.length : -rule.versions)
    return numbers
      .filter((version, i) => {
        const next = versions.get(numbers[i + 1] ?? Number.NaN)
        const isReplaced = next !== undefined && next.at + age <= now
        const isNamed = named.some((one) => one.branch === branch && one.version === version)
        const isOurs = versions.get(version)!.rows !== undefined
        const isBegin = version === parent?.version
        return isReplaced && isOurs && !isNamed && !isBegin && version !== latest && !newest.includes(version)
      })
      .map((version) => ({ branch, version }))
  })
}
