import type { Identifier } from '../../base/model/identifier.ts'
import type { Snapshot, TableEngine } from '../../engine/table/index.ts'
import { type FoundTable, findTable } from '../lookup/names.ts'
import { wantedByName } from '../lookup/version-name.ts'
import { type FoundVersion, findWanted } from '../lookup/versions.ts'
import type { RowsContext } from './context.ts'
import { manifestOf, openVersion, requireContentFolder, requireOurs, retryIfReplaced } from './rows.ts'

/** Two versions of a table, whose rows our engine wrote. */
export interface ComparedVersions {
  readonly table: FoundTable
  readonly engine: TableEngine
  readonly from: FoundVersion & { readonly snapshot: Snapshot }
  readonly to: FoundVersion & { readonly snapshot: Snapshot }
}

/** Opens two versions by their names. They are found in one read, so that both are of one table. */
export async function openVersions(
  core: RowsContext,
  id: Identifier,
  names: { readonly from: number | string; readonly to: number | string },
): Promise<ComparedVersions> {
  const { table, from, to } = await core.store.read((reader) => {
    const table = findTable(reader, id)
    const find = (name: number | string) => {
      const found = findWanted(reader, id, table, wantedByName(reader, id, table, name), core.now())
      requireOurs(id, found)
      return found
    }
    // A table without versions is told by what it lacks: it is declared only, or another engine's.
    if (table.record.main.latest === null) return { table, from: undefined, to: undefined }
    return { table, from: find(names.from), to: find(names.to) }
  })
  if (from === undefined) {
    // It says what the table lacks, unless a version was made meanwhile.
    await openVersion(core, id, { branch: '' })
    return openVersions(core, id, names)
  }
  const folder = requireContentFolder(core, id, table)
  const engine = await core.engine(folder.content)
  const open = async (found: FoundVersion) => ({
    ...found,
    snapshot: await retryIfReplaced(core, id, table, () =>
      engine.open(folder.prefix, manifestOf(found.record)),
    ),
  })
  return { table, engine, from: await open(from), to: await open(to) }
}
