import type { Core } from '../../catalog/core.ts'
import type { Place } from '../../locations/locations.ts'
import { manifestOf } from '../../rows/rows.ts'
import type { VersionRecord } from '../../store/records.ts'
import type { ManifestRef } from '../../table/index.ts'
import { allTables, type KnownTable, type KnownVersion } from '../tables.ts'
import { findLeftovers } from './leftovers.ts'
import type { Findings, VerifyOptions } from './report.ts'

/** Looks at the content of every table. */
export async function verifyContent(core: Core, findings: Findings, options: VerifyOptions): Promise<void> {
  for await (const table of allTables(core)) {
    findings.progress('content')
    findings.counts.tables++
    findings.counts.versions += table.versions.length
    if (table.ours && table.place) await verifyTable(core, table, table.place, findings, options)
    else if (table.versions.length > 0 || table.place === undefined) findings.counts.elsewhere++
  }
}

async function verifyTable(
  core: Core,
  table: KnownTable,
  place: Place,
  findings: Findings,
  { quick, signal }: VerifyOptions,
): Promise<void> {
  const engine = await core.engine(place.content)
  const byPath = new Map<string, KnownVersion>()
  for (const version of table.versions) {
    // A branch begins with the version it comes from.
    if (!byPath.has(version.record.manifest_path)) byPath.set(version.record.manifest_path, version)
  }
  const refs: ManifestRef[] = Array.from(byPath.values(), ({ record }) => manifestOf(record))
  const reached = new Set<string>()
  for await (const { path, bytes, manifest, rows, problem } of engine.check(place.prefix, refs, {
    quick,
    signal,
  })) {
    reached.add(path)
    findings.counts.objects++
    findings.counts.bytes += bytes
    findings.progress('content')
    const version = byPath.get(manifest.path)!
    const says = problem?.message ?? rowsFault(version, rows)
    // What was given up meanwhile may be gone meanwhile.
    if (says !== undefined && (await isStill(core, version))) {
      findings.add({
        severity: 'problem',
        kind: 'content',
        where: path,
        ...(table.id && { id: table.id }),
        message: says,
      })
    }
  }
  await findLeftovers(core, place, reached, findings, table.id)
}

function rowsFault({ key, record }: KnownVersion, rows: number | undefined): string | undefined {
  if (rows === undefined || rows === record.rows) return undefined
  return `The version ${JSON.stringify(key)} should have ${record.rows} rows and its manifest has ${rows}. Restore the catalog from a backup.`
}

async function isStill(core: Core, { key, record }: KnownVersion): Promise<boolean> {
  const now = await core.store.read((reader) => reader.get<VersionRecord>(key))
  return now?.manifest_path === record.manifest_path
}
