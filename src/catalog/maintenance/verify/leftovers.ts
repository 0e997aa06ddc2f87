import type { Identifier } from '../../../base/model/identifier.ts'
import { keys } from '../../../base/store/records.ts'
import { type ContentFolder, tablesFolder } from '../../locations/locations.ts'
import { olderThan } from '../../locations/object-age.ts'
import { registrationFolder } from '../../locations/registration.ts'
import type { MaintenanceContext } from '../context.ts'
import type { Findings } from './report.ts'

/** A commit may still refer to a younger object. */
const graceMillis = 3_600_000

/** Reports objects of our engine at a table's location that no version refers to. */
export async function findLeftovers(
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
export async function findLostFolders(core: MaintenanceContext, findings: Findings): Promise<void> {
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
