import * as v from 'valibot'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { moment } from '../../../base/model/fields.ts'
import { formatIdentifier } from '../../../base/model/identifier.ts'
import type { Head } from '../../../base/store/records.ts'
import { pastTime } from '../../lookup/version-at.ts'
import { onBranch } from '../../lookup/versions.ts'
import type { NamespaceTree, TableWithRefs } from './namespace-tree.ts'

/*
 * A catalog as it was at a time, as far as its records tell: versions have times, and so has the creation of all else.
 * What was dropped since is not there, and names and properties are those of now.
 */

/** The milliseconds of a time that a caller gave. Throws `InvalidInput` for what is none, and for a time to come. */
export function timeOf(at: string | Date, now: number): number {
  const checked = v.safeParse(moment, at)
  if (!checked.success) throw invalid(`at ${checked.issues[0].message}.`)
  return pastTime(checked.output, now)
}

/** The namespaces and tables that were there at a time, with the versions of then. */
export function treeAsOf({ record, namespaces, tables }: NamespaceTree, time: number): NamespaceTree {
  const children = namespaces.map((child) => treeAsOf(child, time))
  return {
    record,
    // One that is newer may hold tables that were moved there.
    namespaces: children.filter(
      ({ record, namespaces, tables }) => record!.created_at <= time || namespaces.length + tables.length > 0,
    ),
    tables: tables.flatMap((table) => tableAsOf(table, time) ?? []),
  }
}

/** A table as it was at a time; undefined when it was not there. */
function tableAsOf(table: TableWithRefs, time: number): TableWithRefs | undefined {
  const { record, versions } = table
  const main = headAsOf(table, '', time)
  if (main.latest === null && record.created_at > time) return undefined
  const heads = new Map([['', main]])
  for (const [name, { created_at }] of table.branches)
    if (created_at <= time) heads.set(name, headAsOf(table, name, time))
  const known = new Set<string>()
  const kept = versions.filter(({ key: [, , branch, version] }) => {
    const isKept = Number(version) <= (heads.get(String(branch))?.latest ?? -1)
    if (isKept) known.add(`${branch}/${version}`)
    return isKept
  })
  return {
    ...table,
    record: { ...record, main },
    versions: kept,
    fromOwnEngine: kept.length > 0 && kept.every((version) => version.record.rows !== undefined),
    tags: table.tags.filter(([, { branch, version }]) => known.has(`${branch}/${version}`)),
    branches: table.branches.flatMap(([name, branch]) => {
      const head = heads.get(name)
      return head?.latest == null ? [] : [[name, { ...branch, head }] as const]
    }),
  }
}

/** The head of a branch at a time. Fails when the version of then was removed. */
function headAsOf({ id, versions }: TableWithRefs, branch: string, time: number): Head {
  let found: number | null = null
  for (const { key, record } of versions) {
    if (key[2] !== branch) continue
    const version = Number(key[3])
    if (record.timestamp_millis <= time) {
      found = version
    } else if (found !== null && version - found > 1) {
      throw new CatalogError(
        'TableVersionNotFound',
        `What the table ${formatIdentifier(id ?? [])}${onBranch(branch)} was at ${new Date(time).toISOString()} is not known: versions between ${found} and ${version} were removed. Export the catalog at another time.`,
      )
    } else break
  }
  return { latest: found, last: found }
}
