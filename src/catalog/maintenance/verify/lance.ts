import { filesNamedIn, type NamedFiles } from '../../lance/named-files.ts'
import { branchFolderOf, nameOf, versionsFolderOf } from '../../locations/lance-files.ts'
import type { ContentFolder } from '../../locations/locations.ts'
import { isOfLance } from '../../rows/lance-rows.ts'
import type { MaintenanceContext } from '../context.ts'
import type { KnownTable, KnownVersion } from '../tables.ts'
import { isStill } from './pointed.ts'
import type { Findings, VerifyOptions } from './report.ts'

/**
 * Verifies the manifests that Lance wrote, and that the files they name are there, with their sizes. What is in those
 * files is Lance's to check. Returns whether there are such manifests within reach.
 */
export async function verifyLance(
  core: MaintenanceContext,
  table: KnownTable,
  findings: Findings,
  { signal }: VerifyOptions,
): Promise<boolean> {
  const { folder } = table
  // A record of another shape is a finding already.
  const versions = table.versions.filter(
    ({ record }) => typeof record.manifest_path === 'string' && isOfLance(record),
  )
  if (folder === undefined || versions.length === 0) return false
  const sizes = new Map<string, number>()
  for await (const { path, size } of folder.content.list(folder.prefix)) {
    signal?.throwIfAborted()
    sizes.set(path.slice(folder.prefix.length), size)
  }
  // Without any manifest that can be read, it may be no dataset.
  if (!(await hasManifest(folder, versions))) return false
  findings.counts.objects += sizes.size
  const folders = foldersIn(sizes.keys())
  const last = new Map(versions.map((version) => [branchOf(version), version]))
  for (const version of versions) {
    findings.progress('content')
    const isLast = last.get(branchOf(version)) === version
    const message = await faultOf(folder, version, { sizes, folders, findings })
    if (message === undefined || !(await isStill(core, version))) continue
    findings.add({
      // Lance's cleanup removes manifests, and the next request for the branch their records.
      severity: message === gone && !isLast ? 'harmless' : 'problem',
      kind: 'content',
      where: folder.prefix + pathOf(version),
      ...(table.id && { id: table.id }),
      message: `The manifest of version ${version.key[3]} ${message}. Restore it from a backup, or delete the version.`,
    })
  }
  return true
}

/** Whether a manifest of these lies where Lance looks for it, and can be read. */
async function hasManifest({ content, prefix }: ContentFolder, versions: readonly KnownVersion[]) {
  for (const version of versions.toReversed()) {
    const bytes = await content.get(prefix + pathOf(version))
    if (bytes !== undefined && !(namedIn(bytes) instanceof RangeError)) return true
  }
  return false
}

const gone = 'is missing'

interface Found {
  readonly sizes: ReadonlyMap<string, number>
  readonly folders: ReadonlySet<string>
  readonly findings: Findings
}

/** What is wrong with a version, as the end of a sentence. */
async function faultOf(
  { content, prefix }: ContentFolder,
  version: KnownVersion,
  { sizes, folders, findings }: Found,
): Promise<string | undefined> {
  const path = pathOf(version)
  const bytes = await content.get(prefix + path)
  if (bytes === undefined) return gone
  findings.counts.bytes += bytes.length
  const wanted = version.record.manifest_size
  if (wanted !== undefined && wanted !== bytes.length) {
    return `has ${bytes.length} bytes, and should have ${wanted}`
  }
  const named = namedIn(bytes)
  if (named instanceof RangeError) return `cannot be read: ${named.message.replace(/\.$/, '')}`
  if (named.version !== version.key[3]) return `is that of version ${named.version}`
  const own = branchFolderOf(branchOf(version))
  for (const file of named.files) {
    // A file of another dataset or branch, as those of a clone are.
    if (file.base !== undefined) continue
    const size = sizes.get(own + file.path)
    if (size === undefined) return `names the file ${JSON.stringify(own + file.path)}, which is missing`
    if (file.size !== undefined && file.size !== size) {
      return `names the file ${JSON.stringify(own + file.path)} of ${file.size} bytes, which has ${size}`
    }
  }
  const lacking = named.folders.find(({ path, base }) => base === undefined && !folders.has(own + path))
  return lacking === undefined
    ? undefined
    : `names an index with files in ${JSON.stringify(own + lacking.path)}, where none are`
}

function namedIn(bytes: Uint8Array): NamedFiles | RangeError {
  try {
    return filesNamedIn(bytes)
  } catch (error) {
    if (error instanceof RangeError) return error
    throw error
  }
}

const branchOf = ({ key }: KnownVersion) => String(key[2])

const pathOf = (version: KnownVersion) =>
  versionsFolderOf(branchOf(version)) + nameOf(version.record.manifest_path)

/** The folders of indexes that have files, of all branches. */
function foldersIn(paths: Iterable<string>): Set<string> {
  const found = new Set<string>()
  for (const path of paths) {
    const [folder] = /^(?:.*\/)?_indices\/[^/]+\//.exec(path) ?? []
    if (folder !== undefined) found.add(folder)
  }
  return found
}
