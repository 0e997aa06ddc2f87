import * as v from 'valibot'
import { changeFields, limits, requestFields, tableVersion } from '../model/fields.ts'
import { commit, unchanged } from '../transactions/commit.ts'
import { createVersion, versionEntry } from './create-table-version.ts'
import { doEach } from './framework/batch.ts'
import { operation } from './framework/operation.ts'

/** Creates versions of one or many tables in one atomic step: all of them, or none. */
export const batchCreateTableVersions = operation({
  name: 'batchCreateTableVersions',
  summary: 'Create versions of many tables atomically.',
  request: v.object({
    ...requestFields,
    entries: v.pipe(
      v.array(v.object(versionEntry), 'must be a list of versions to create'),
      v.nonEmpty('is empty; give at least one version to create'),
      v.maxLength(limits.batch, `must hold at most ${limits.batch} entries`),
    ),
  }),
  response: v.object({ ...changeFields, versions: v.array(tableVersion) }),
  errors: ['TableNotFound', 'TableBranchNotFound', 'ConcurrentModification'],
  changes: true,
  run: (core, { entries }) =>
    commit(core, 'BatchCreateTableVersions', [], (change) => {
      const results = doEach('entries', entries, (entry) => createVersion(change, entry))
      const versions = results.map((result) => result.version)
      return results.some((result) => result.created) ? { versions } : unchanged({ versions })
    }),
})
