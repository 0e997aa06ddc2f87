import * as v from 'valibot'
import { CatalogError } from '../../base/errors.ts'
import { branch, changeFields, requestFields, tableIdentifier, version } from '../../base/model/fields.ts'
import { formatIdentifier } from '../../base/model/identifier.ts'
import { keys, type TagRecord, type VersionRecord } from '../../base/store/records.ts'
import {
  prepareDeletion,
  removeManifests,
  requireDeletable,
  type VersionDeletion,
} from '../lance/delete-versions.ts'
import { headOf, onBranch, putHead } from '../lookup/versions.ts'
import { type ChangeContext, commit, findTableToChange, unchanged } from '../transactions/commit.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const endVersion = v.pipe(
  v.number('must be a whole number, or -1 for all through the latest'),
  v.safeInteger('must be a whole number, or -1 for all through the latest'),
  v.minValue(-1, 'must be a whole number, or -1 for all through the latest'),
)

const deleteVersionsFields = {
  id: tableIdentifier,
  branch,
  ranges: v.pipe(
    v.array(
      v.object({ start_version: version, end_version: endVersion }),
      'must be a list of ranges of versions',
    ),
    v.maxLength(1_000, 'must hold at most 1,000 ranges'),
  ),
}

const deleteVersionsRequest = v.object({ ...requestFields, ...deleteVersionsFields })
const deleteVersionsResponse = v.object({ ...changeFields, deleted_count: version })

/**
 * Deletes ranges of versions of a table, start inclusive, end exclusive, −1 meaning all through the latest;
 * answers with how many there were. A tagged version refuses, and then nothing is deleted. The numbers of
 * deleted versions are never given again.
 *
 * Of a table of Lance, the manifests are removed, too. Its latest version refuses, and so does one that a branch begins
 * with.
 */
export const batchDeleteTableVersions = operation({
  name: 'batchDeleteTableVersions',
  summary: 'Delete ranges of versions of a table.',
  request: deleteVersionsRequest,
  response: deleteVersionsResponse,
  errors: ['TableNotFound', 'TableBranchNotFound', 'InvalidTableState', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/table/{id}/version/delete'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['delete-versions'],
    options: { ranges: 'ranges of versions: [{"start_version":1,"end_version":5}], the end not included' },
    examples: [`./catalog prod.flights --ranges '[{"start_version":1,"end_version":5}]'`],
  },
  run: async (core, request) => {
    const prepared = await prepareDeletion(core, request)
    let deleted: readonly string[] = []
    const response = await commit(core, 'BatchDeleteTableVersions', request.id, (change) => {
      deleted = deleteVersions(change, request, prepared)
      const deleted_count = deleted.length
      return deleted_count > 0 ? { deleted_count } : unchanged({ deleted_count })
    })
    if (prepared) await removeManifests(core, prepared, deleted)
    return response
  },
})

/** Deletes the ranges within a change. Returns the paths of the manifests of the deleted versions. */
export function deleteVersions(
  change: ChangeContext,
  { id, branch, ranges }: Pick<v.InferOutput<typeof deleteVersionsRequest>, 'id' | 'branch' | 'ranges'>,
  prepared: VersionDeletion | undefined,
): readonly string[] {
  const { writer } = change
  const table = findTableToChange(change, id)
  // The lookup found the files of another table, which must stay.
  if (prepared && prepared.dataset.table.id !== table.id) throw new TargetReplaced(id)
  const head = headOf(writer, id, table, branch)
  const prefix = keys.versions(table.id, branch)
  const doomed = new Map<number, string>()
  for (const { start_version, end_version } of ranges) {
    for (const { key, value } of writer.range<VersionRecord>({
      prefix,
      start: [...prefix, start_version],
      ...(end_version === -1 ? {} : { end: [...prefix, end_version] }),
    })) {
      doomed.set(Number(key[3]), value.manifest_path)
    }
  }
  if (doomed.size === 0) return []
  if (prepared) requireDeletable(prepared, id, doomed.keys(), head.latest)
  for (const { key, value } of writer.range<TagRecord>({ prefix: keys.tags(table.id) })) {
    if (value.branch === branch && doomed.has(value.version)) {
      throw new CatalogError(
        'InvalidTableState',
        `Version ${value.version} of the table ${formatIdentifier(id)}${onBranch(branch)} is tagged ${String(key[2])}. Move or delete the tag first.`,
      )
    }
  }
  for (const version of doomed.keys()) writer.remove(keys.version(table.id, branch, version))
  if (head.latest !== null && doomed.has(head.latest)) {
    let latest: number | null = null
    for (const { key } of writer.range({ prefix, reverse: true, limit: 1 })) latest = Number(key[3])
    putHead(writer, table, branch, { ...head, latest })
  }
  return [...doomed.values()]
}
