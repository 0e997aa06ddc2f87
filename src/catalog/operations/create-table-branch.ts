import * as v from 'valibot'
import { invalid } from '../../base/errors.ts'
import {
  branch,
  changeFields,
  moment,
  newBranch,
  requestFields,
  tableIdentifier,
  version,
} from '../../base/model/fields.ts'
import { type BranchRecord, keys, recordFormat } from '../../base/store/records.ts'
import { findDataset } from '../lance/dataset.ts'
import { settleVersion } from '../lance/tags.ts'
import { branchExists, findWanted } from '../lookup/versions.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const bothNamed =
  'from_at cannot be used together with from_version, since each names a version. Give one of them.'

/**
 * Creates a branch from a version of another (by default the latest of the main branch). `from_version` or `from_at`, a
 * time, says which. The branch starts
 * with that version under the same number, and later versions count on from there. Later changes of the other branch
 * do not affect the new one. Of a table of Lance, the branch is Lance's own.
 */
export const createTableBranch = operation({
  name: 'createTableBranch',
  summary: 'Create a branch of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    name: newBranch,
    from_branch: branch,
    from_version: v.nullish(version),
    from_at: v.nullish(moment),
  }),
  response: v.object(changeFields),
  errors: [
    'TableNotFound',
    'TableBranchAlreadyExists',
    'TableBranchNotFound',
    'TableVersionNotFound',
    'InvalidTableState',
  ],
  changes: true,
  route: post('/v1/table/{id}/branches/create'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['branch'],
    positional: ['name'],
    examples: ['./catalog prod.flights experiment --from-version 3'],
  },
  run: async (core, { id, name, from_branch, from_version, from_at }) => {
    if (from_version != null && from_at != null) throw invalid(bothNamed)
    const wanted = { branch: from_branch, version: from_version, at: from_at }
    const dataset = await findDataset(core, id)
    if (dataset) {
      const { version } = from_at == null ? wanted : await settleVersion(core, id, wanted)
      const { createBranch } = await import('../lance/branches.ts')
      await createBranch(core, dataset, { id, name, from_branch, from_version: version ?? undefined })
    }
    return commit(core, 'CreateTableBranch', id, (change) => {
      const { writer, now } = change
      const table = findTableToChange(change, id)
      if (dataset) return {}
      if (writer.get(keys.branch(table.id, name))) {
        throw branchExists(id, name)
      }
      const from = findWanted(writer, id, table, wanted, now)
      const record: BranchRecord = {
        v: recordFormat,
        head: { latest: from.version, last: from.version },
        parent_branch: from_branch,
        parent_version: from.version,
        created_at: now,
      }
      writer.put(keys.branch(table.id, name), record)
      writer.put(keys.version(table.id, name, from.version), from.record)
      return {}
    })
  },
})
