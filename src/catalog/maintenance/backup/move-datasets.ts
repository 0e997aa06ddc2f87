import { pathToFileURL } from 'node:url'
import type { VersionRecord } from '../../../base/store/records.ts'
import { namedByRef } from '../../lance/copy-dataset.ts'
import { objectPathOf } from '../../lance/dataset.ts'
import { movedManifest } from '../../lance/moved-manifest.ts'
import { refBytes } from '../../lance/ref-files.ts'
import { nameOf, versionOfName, versionsFolderOf } from '../../locations/lance-files.ts'
import { isOfLance } from '../../rows/lance-rows.ts'
import type { MaintenanceContext } from '../context.ts'
import { allTables } from '../tables.ts'

/**
 * Adapts the datasets of Lance in a copied folder to where that will lie: their branches name the files of others by
 * absolute URLs, and records have the paths of manifests.
 */
export async function moveDatasets(copied: MaintenanceContext, folder: string, to: string): Promise<void> {
  const { openContent } = await import('../../../contents/open.ts')
  const content = await openContent(pathToFileURL(folder).href)
  const root = copied.contentRoots[0]!
  for await (const { folder, location, versions } of allTables(copied)) {
    if (folder?.content !== root.content || !versions.some(({ record }) => isOfLance(record))) continue
    const { prefix } = folder
    const moved = to + location.slice(root.url.length)
    /** The new sizes of manifests, by their paths within the dataset. */
    const sizes = new Map<string, number>()
    for await (const { path } of content.list(prefix)) {
      if (!path.includes('/_versions/') || versionOfName(nameOf(path)) === undefined) continue
      const manifest = (await content.get(path))!
      const bytes = unlessDamaged(() => movedManifest(manifest, location, moved)) ?? manifest
      if (bytes === manifest) continue
      await content.shared!.replace(path, bytes)
      sizes.set(path.slice(prefix.length), bytes.length)
    }
    for (const kind of ['tags', 'branches']) {
      for (const name of await content.shared!.names(`${prefix}_refs/${kind}/`)) {
        const path = `_refs/${kind}/${name}`
        const found = namedByRef(path, (await content.get(prefix + path))!)
        const of = versions.find(({ key }) => key[2] === found?.branch && key[3] === found?.version)
        const size = of && sizes.get(pathOf(String(of.key[2]), of.record))
        if (size === undefined) continue
        await content.shared!.replace(prefix + path, refBytes({ ...found!.file, manifestSize: size }))
      }
    }
    await copied.store.write((writer) => {
      for (const { key, record } of versions) {
        if (!isOfLance(record)) continue
        const path = pathOf(String(key[2]), record)
        const size = sizes.get(path) ?? record.manifest_size
        writer.put(key, {
          ...record,
          manifest_path: objectPathOf(moved) + path,
          ...(size !== undefined && { manifest_size: size }),
        })
      }
    })
  }
}

const pathOf = (branch: string, { manifest_path }: VersionRecord) =>
  versionsFolderOf(branch) + nameOf(manifest_path)

function unlessDamaged<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
