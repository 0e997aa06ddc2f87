import { CatalogError } from '../../../base/errors.ts'
import { pathIn } from '../../../base/model/relative-path.ts'
import { type FragmentEntry, indexesOf } from '../format/manifest.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import { checkBytes, checkSize } from '../read/check.ts'
import { uncached } from '../storage/coalesced-read.ts'
import { readChecked } from '../storage/objects.ts'

/** The paths in manifests of a version's files of indexes that are missing or damaged. Reads all of them. */
export async function brokenIndexes(job: Job, snapshot: LoadedSnapshot): Promise<ReadonlySet<string>> {
  const content = uncached(job.storage.content)
  const broken = new Set<string>()
  const seen = new Set<string>()
  for await (const entry of fragmentsOf(job.storage, snapshot)) {
    for (const index of indexesOf(entry)) {
      if (seen.has(index.path)) continue
      seen.add(index.path)
      const path = pathIn(snapshot.prefix, index.path)
      const check = async () => {
        await checkSize(content, path, index.size)
        await checkBytes(content, path, index, job.signal)
      }
      try {
        await readChecked(check)
      } catch (error) {
        if (!(error instanceof CatalogError && error.code === 'InvalidTableState')) throw error
        broken.add(index.path)
      }
    }
    if (job.due) await job.rest()
  }
  return broken
}

/** A fragment without its indexes in some files. */
export function withoutFiles(entry: FragmentEntry, files: ReadonlySet<string>): FragmentEntry {
  const { indexes, ...rest } = entry
  if (files.size === 0 || !indexes?.some(({ path }) => files.has(path))) return entry
  const kept = indexes.filter(({ path }) => !files.has(path))
  return kept.length === 0 ? rest : { ...rest, indexes: kept }
}
