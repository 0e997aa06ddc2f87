import { ByteBudget } from '../../../base/scheduling/byte-budget.ts'
import { prefetch } from '../../../base/scheduling/prefetch.ts'
import type { VersionRecord } from '../../../base/store/records.ts'
import type { TableFormat } from '../../formats/table-format.ts'
import { locationBelow } from '../../locations/locations.ts'
import { type ContentObject, isPointer, objectAt } from '../../locations/pointers.ts'
import type { MaintenanceContext } from '../context.ts'
import type { KnownTable, KnownVersion } from '../tables.ts'
import type { Findings, VerifyOptions } from './report.ts'

/** Files that are read at the same time, and the most bytes of them. One larger file is read alone. */
const depth = 8
const mostBytes = 256 << 20
/** What a file of unknown size counts for. */
const unknownBytes = 16 << 20

/** The file of a version: where it is, and whether that is in a copy of the folder that its URL names. */
interface PointedFile {
  readonly object: ContentObject
  readonly isMoved: boolean
}

/**
 * Verifies the files that the versions of a table of another format point at. Returns whether they are within reach, and of
 * a format that was given.
 */
export async function verifyPointed(
  core: MaintenanceContext,
  table: KnownTable,
  findings: Findings,
  options: VerifyOptions,
): Promise<boolean> {
  const format = options.formats?.find((one) => one.isOf(table.record.properties))
  if (format === undefined) return false
  // A damaged record is a finding already.
  const versions = table.versions.filter(
    ({ record: { manifest_path: path } }) => typeof path === 'string' && isPointer(path),
  )
  if (versions.length === 0) return false
  const files = versions.map((version) => ({ version, file: fileOf(core, table, version.record) }))
  if (files.every(({ file }) => file === undefined)) return false
  const check = checker(table, format, findings, options)
  for await (const fault of prefetch(files, check, { depth })) {
    findings.progress('content')
    if (fault === undefined || !(await isStill(core, fault.version))) continue
    findings.add({
      severity: 'problem',
      kind: 'content',
      where: fault.version.record.manifest_path,
      ...(table.id && { id: table.id }),
      message: `The file ${JSON.stringify(fault.version.record.manifest_path)} of version ${fault.version.key[3]} ${fault.message}. Restore it from a backup, or delete the version.`,
    })
  }
  return true
}

function checker(
  { location, record: { main } }: KnownTable,
  format: TableFormat,
  { counts }: Findings,
  { quick, signal }: VerifyOptions,
) {
  const budget = new ByteBudget(mostBytes, Number.POSITIVE_INFINITY)
  const faultOf = async ({ object, isMoved }: PointedFile, { key, record }: KnownVersion) => {
    const { manifest_path: url, manifest_size: size, metadata = {} } = record
    const { content, path } = object
    if (quick) {
      // The last byte, and none after it.
      const range = size ? { start: size - 1, end: size + 1 } : { start: 0, end: 1 }
      const end = await content.get(path, range)
      if (end === undefined) return 'is missing'
      return size !== undefined && end.length !== 1
        ? `has not the ${size} bytes that it should have`
        : undefined
    }
    const bytes = await content.get(path)
    if (bytes === undefined) return 'is missing'
    counts.bytes += bytes.length
    if (size !== undefined && bytes.length !== size)
      return `has ${bytes.length} bytes, and should have ${size}`
    const isLatest = key[2] === '' && key[3] === main.latest
    const at = isLatest && !isMoved ? location : undefined
    return format.faultIn(bytes, { url, location: at, metadata }, signal)
  }
  return async ({ version, file }: { version: KnownVersion; file: PointedFile | undefined }) => {
    if (file === undefined) return { version, message: 'is out of reach of this catalog, and others are not' }
    counts.objects++
    const hold = budget.hold()
    await hold.take(Math.min(version.record.manifest_size ?? unknownBytes, mostBytes), signal)
    try {
      const message = await faultOf(file, version)
      return message === undefined ? undefined : { version, message }
    } finally {
      hold.release()
    }
  }
}

/** The file of a version. In a copy of the catalog, it lies at the copied location of the table. */
function fileOf(
  core: MaintenanceContext,
  { location, folder }: KnownTable,
  { manifest_path: url }: VersionRecord,
): PointedFile | undefined {
  const object = objectAt(core, url)
  if (object !== undefined) return { object, isMoved: false }
  const rest = folder && locationBelow(core.contentRoots, location, url)
  return rest === undefined
    ? undefined
    : { object: { content: folder!.content, path: folder!.prefix + rest }, isMoved: true }
}

/** Whether a version is as it was. Another process may have removed it meanwhile. */
export async function isStill(core: MaintenanceContext, { key, record }: KnownVersion): Promise<boolean> {
  const now = await core.store.read((reader) => reader.get<VersionRecord>(key))
  return now?.manifest_path === record.manifest_path
}
