import type { Identifier } from '../../../base/model/identifier.ts'
import { keys } from '../../../base/store/records.ts'
import type { StoreInspection } from '../../../base/store/store.ts'
import type { ManifestRef } from '../../../engine/table/index.ts'
import { type ContentFolder, folderName, tablesFolder } from '../../locations/locations.ts'
import { olderThan } from '../../locations/object-age.ts'
import { registrationFault, registrationFolder } from '../../locations/registration.ts'
import { foldersOfUnknownClones, isShared } from '../../locations/shared-content.ts'
import { manifestOf } from '../../rows/rows.ts'
import type { MaintenanceContext } from '../context.ts'
import { allTables, type KnownTable, type KnownVersion } from '../tables.ts'
import { verifyLance } from './lance.ts'
import { isStill, verifyPointed } from './pointed.ts'
import { verifyRecords } from './records.ts'
import { Findings, type VerifyOptions, type VerifyReport } from './report.ts'

/** Verifies everything a catalog holds; see `LocalCatalog.verify`. */
export async function verify(core: MaintenanceContext, options: VerifyOptions = {}): Promise<VerifyReport> {
  const findings = new Findings(options)
  findings.progress('store')
  if (core.store.inspect && options.store !== false) {
    const inspection = await core.store.inspect({ signal: options.signal })
    // LMDB may crash the process when it reads a damaged file.
    if (inspection.damage.length > 0) return damagedStore(core.contentRoots[0]!.url, inspection, options)
  }
  await verifyRecords(core, findings)
  await verifyContent(core, findings, options)
  await verifyRegistrations(core, findings)
  await findLostFolders(core, findings)
  return findings.report()
}

/** The report on a catalog with a damaged store. Nothing else of the catalog was verified. */
export function damagedStore(
  where: string,
  { damage, records }: StoreInspection,
  options: VerifyOptions = {},
): VerifyReport {
  const findings = new Findings(options)
  findings.complete = false
  findings.counts.records = records
  for (const says of damage) {
    findings.add({
      severity: 'problem',
      kind: 'store',
      where,
      message: `The store file is damaged: ${says}. Close the catalog and restore it from a backup.`,
    })
  }
  return findings.report()
}

async function verifyContent(
  core: MaintenanceContext,
  findings: Findings,
  options: VerifyOptions,
): Promise<void> {
  const borrowed = new BorrowedFiles(core)
  for await (const table of allTables(core)) {
    findings.progress('content')
    findings.counts.tables++
    findings.counts.versions += table.versions.length
    const { folder } = table
    if (table.fromOwnEngine && folder) {
      const reached = await verifyTable(core, table, folder, findings, options)
      borrowed.note(folder, reached)
      // Clones may name files that no version of the table itself names. All clones are known at the end.
      if (await core.store.read((reader) => isShared(core.contentRoots, reader, table.location)))
        borrowed.defer(table.id, folder, reached)
      else await findLeftovers(core, folder, (path) => reached.has(path), findings, table.id)
    } else if (await verifyPointed(core, table, findings, options)) continue
    else if (await verifyLance(core, table, findings, options)) continue
    else if (table.versions.length > 0 || table.folder === undefined) findings.counts.elsewhere++
  }
  await borrowed.findLeftovers(findings)
}

async function verifyTable(
  core: MaintenanceContext,
  table: KnownTable,
  folder: ContentFolder,
  findings: Findings,
  { quick, signal }: VerifyOptions,
): Promise<ReadonlySet<string>> {
  const engine = await core.engine(folder.content)
  const byPath = new Map<string, KnownVersion>()
  for (const version of table.versions) {
    // The first version of a branch shares its manifest with the version it was made from.
    if (!byPath.has(version.record.manifest_path)) byPath.set(version.record.manifest_path, version)
  }
  const refs: ManifestRef[] = Array.from(byPath.values(), ({ record }) => manifestOf(record))
  const reached = new Set<string>()
  for await (const { path, bytes, manifest, rows, problem } of engine.check(folder.prefix, refs, {
    quick,
    signal,
  })) {
    reached.add(path)
    findings.counts.objects++
    findings.counts.bytes += bytes
    findings.progress('content')
    const version = byPath.get(manifest.path)!
    const message = problem?.message ?? rowsFault(version, rows)
    // Another process may have removed the version meanwhile, and then its objects.
    if (message !== undefined && (await isStill(core, version))) {
      findings.add({
        severity: 'problem',
        kind: 'content',
        where: path,
        ...(table.id && { id: table.id }),
        message,
      })
    }
  }
  return reached
}

function rowsFault({ key, record }: KnownVersion, rows: number | undefined): string | undefined {
  if (rows === undefined || rows === record.rows) return undefined
  return `The version ${JSON.stringify(key)} should have ${record.rows} rows and its manifest has ${rows}. Restore the catalog from a backup.`
}

async function verifyRegistrations(core: MaintenanceContext, findings: Findings): Promise<void> {
  const registrations = await core.store.read((reader) => [
    ...reader.range<string>({ prefix: keys.registrations }),
  ])
  for (const { key, value: path } of registrations) {
    findings.progress('content')
    findings.counts.objects++
    const fault = await registrationFault(core, key.slice(1).map(String), path)
    if (fault === undefined) continue
    // Another process may have registered the location, or replaced the registration, meanwhile.
    if ((await core.store.read((reader) => reader.get<string>(key))) !== path) continue
    findings.add({
      severity: 'problem',
      kind: 'content',
      where: path,
      message: `The registration ${JSON.stringify(path)} ${fault}. Restore it from a backup, or register its location without its history.`,
    })
  }
}

/** The files that clones name in the folders of other tables, and the tables whose leftovers wait for all clones. */
class BorrowedFiles {
  readonly #core: MaintenanceContext
  readonly #known = new Set<string>()
  readonly #files = new Set<string>()
  readonly #waiting: {
    readonly id: Identifier | undefined
    readonly folder: ContentFolder
    readonly reached: ReadonlySet<string>
  }[] = []

  constructor(core: MaintenanceContext) {
    this.#core = core
  }

  /** Notes the files that the versions of a table name. */
  note(folder: ContentFolder, reached: ReadonlySet<string>): void {
    this.#known.add(folderName(this.#core.contentRoots, folder))
    for (const path of reached)
      if (!path.startsWith(folder.prefix)) this.#files.add(this.#nameOf(folder, path))
  }

  /** Defers the search for leftovers of a table whose files clones share. */
  defer(id: Identifier | undefined, folder: ContentFolder, reached: ReadonlySet<string>): void {
    this.#waiting.push({ id, folder, reached })
  }

  /** Reports the leftovers of those tables. A file that a deregistered clone may name is not one. */
  async findLeftovers(findings: Findings): Promise<void> {
    for (const { id, folder, reached } of this.#waiting) {
      const unknown = await foldersOfUnknownClones(this.#core, folder, this.#known)
      if (unknown.includes(folder.prefix)) continue
      const isNeeded = (path: string) => reached.has(path) || this.#files.has(this.#nameOf(folder, path))
      await findLeftovers(this.#core, folder, isNeeded, findings, id)
    }
  }

  #nameOf({ content }: ContentFolder, path: string): string {
    return folderName(this.#core.contentRoots, { content, prefix: path })
  }
}

/** A commit may still refer to a younger object. */
const graceMillis = 3_600_000

/** Reports objects of our engine at a table's location that no version refers to. */
async function findLeftovers(
  core: MaintenanceContext,
  { content, prefix }: ContentFolder,
  isNeeded: (path: string) => boolean,
  findings: Findings,
  id: Identifier | undefined,
): Promise<void> {
  const { isEngineObject } = await import('../../../engine/table/storage/objects.ts')
  const isOld = olderThan(graceMillis, core.now())
  const sum = { objects: 0, bytes: 0 }
  for await (const { path, size, modified } of content.list(prefix)) {
    if (!isOld(modified) || isNeeded(path) || !isEngineObject(path.slice(prefix.length))) continue
    sum.objects++
    sum.bytes += size
  }
  report(findings, prefix, sum, id)
}

/** Reports folders below the catalog's own root that belong to no table. */
async function findLostFolders(core: MaintenanceContext, findings: Findings): Promise<void> {
  const { content } = core.contentRoots[0]!
  const isOld = olderThan(graceMillis, core.now())
  let current: { folder: string; objects: number; bytes: number } | undefined
  const finish = async () => {
    if (current && (await isLost(core, current.folder))) report(findings, current.folder, current, undefined)
  }
  for await (const { path, size, modified } of content.list(`${tablesFolder}/`)) {
    findings.progress('leftovers')
    const folder = path.slice(0, path.indexOf('/', tablesFolder.length + 1) + 1)
    if (folder !== current?.folder) {
      await finish()
      current = { folder, objects: 0, bytes: 0 }
    }
    if (!isOld(modified)) continue
    current.objects++
    current.bytes += size
  }
  await finish()
}

/** Whether a folder belongs to no table, registered or deregistered. */
async function isLost(core: MaintenanceContext, folder: string): Promise<boolean> {
  const { content, url } = core.contentRoots[0]!
  const internalId = folder.slice(tablesFolder.length + 1, -1)
  const location = `${url}${folder.slice(0, -1)}`
  const isKnown = await core.store.read((reader) => {
    if (reader.get(keys.tablePointer(internalId))) return true
    const segments = location.split('/').filter((segment) => segment !== '')
    if (reader.get(keys.location(segments)) || reader.get(keys.registration(segments))) return true
    return Array.from(reader.range({ prefix: keys.location(segments), limit: 1 })).length > 0
  })
  if (isKnown) return false
  for await (const { path } of content.list(folder)) {
    if (path.slice(folder.length).startsWith(registrationFolder)) return false
  }
  return true
}

function report(
  findings: Findings,
  where: string,
  { objects, bytes }: { objects: number; bytes: number },
  id: Identifier | undefined,
): void {
  if (objects === 0) return
  findings.add({
    severity: 'harmless',
    kind: 'leftover',
    where,
    ...(id && { id }),
    message: `${objects} objects of ${bytes} bytes below ${where} belong to no version; a vacuum removes them.`,
  })
}
