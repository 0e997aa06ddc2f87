import {
  type Actual,
  branchName,
  doEach,
  findBranch,
  findTable,
  findTag,
  findVersion,
  type ModelTable,
  type ModelVersion,
  newBranch,
  putVersion,
  Refused,
  recorded,
  type State,
  wantedVersion,
} from './state.ts'
import type { Request } from './types.ts'

export const versions = {
  createTableVersion(state: State, request: Request<'createTableVersion'>) {
    const { created, version } = createVersion(state, request)
    return { version, ...(created ? recorded(state, 'CreateTableVersion', request.id) : {}) }
  },

  batchCreateTableVersions(state: State, { entries }: Request<'batchCreateTableVersions'>, actual: Actual) {
    if (entries.length === 0) throw new Refused('InvalidInput')
    const results = doEach('entries', entries, actual, (entry) => createVersion(state, entry))
    return {
      versions: results.map(({ version }) => version),
      ...(results.some(({ created }) => created)
        ? recorded(
            state,
            'BatchCreateTableVersions',
            [],
            undefined,
            new Set(entries.map(({ id }) => findTable(state, id as string[]).key)),
          )
        : {}),
    }
  },

  batchDeleteTableVersions(state: State, request: Request<'batchDeleteTableVersions'>) {
    const deleted_count = deleteVersions(state, request)
    return {
      deleted_count,
      ...(deleted_count > 0 ? recorded(state, 'BatchDeleteTableVersions', request.id) : {}),
    }
  },

  describeTableVersion(state: State, { id, version, branch }: Request<'describeTableVersion'>) {
    const { number, found } = findVersion(findTable(state, id), branchName(branch), version)
    return { version: shown(number, found) }
  },

  listTableVersions(state: State, { id, branch, at, descending }: Request<'listTableVersions'>) {
    const table = findTable(state, id)
    const { versions } = findBranch(table, branchName(branch))
    const last = wantedVersion(state, table, { branch, at }).version ?? Number.POSITIVE_INFINITY
    const order = descending ? -1 : 1
    return {
      versions: [...versions]
        .filter(([number]) => number <= last)
        .sort(([a], [b]) => (a - b) * order)
        .map(([number, v]) => shown(number, v)),
    }
  },

  createTableTag(state: State, { id, tag, ...asked }: Request<'createTableTag'>) {
    const table = findTable(state, id)
    if (table.tags.has(tag)) throw new Refused('TableTagAlreadyExists')
    table.tags.set(tag, targetOf(state, table, asked))
    return recorded(state, 'CreateTableTag', id)
  },

  updateTableTag(state: State, { id, tag, ...asked }: Request<'updateTableTag'>) {
    const table = findTable(state, id)
    findTag(table, tag)
    table.tags.set(tag, targetOf(state, table, asked))
    return recorded(state, 'UpdateTableTag', id)
  },

  deleteTableTag(state: State, { id, tag }: Request<'deleteTableTag'>) {
    const table = findTable(state, id)
    findTag(table, tag)
    table.tags.delete(tag)
    return recorded(state, 'DeleteTableTag', id)
  },

  getTableTagVersion(state: State, { id, tag }: Request<'getTableTagVersion'>) {
    const { branch, version } = findTag(findTable(state, id), tag)
    return { version, ...(branch === '' ? {} : { branch }) }
  },

  listTableTags(state: State, { id }: Request<'listTableTags'>) {
    const tags = Array.from(findTable(state, id).tags, ([tag, { branch, version }]) => [
      tag,
      { version, manifestSize: '#any', ...(branch === '' ? {} : { branch }) },
    ])
    return { tags: Object.fromEntries(tags) as object }
  },

  createTableBranch(state: State, { id, name, ...asked }: Request<'createTableBranch'>) {
    const { from_branch, from_version, from_at } = asked
    if (from_version != null && from_at != null) throw new Refused('InvalidInput')
    const table = findTable(state, id)
    if (table.branches.has(name)) throw new Refused('TableBranchAlreadyExists')
    const from = targetOf(state, table, { branch: from_branch, version: from_version, at: from_at })
    const { number, found } = findVersion(table, from.branch, from.version)
    const branch = newBranch(from)
    // It begins with the version itself, and so at the time of that.
    branch.versions.set(number, found)
    branch.latest = number
    branch.last = number
    table.branches.set(name, branch)
    return recorded(state, 'CreateTableBranch', id)
  },

  deleteTableBranch(state: State, { id, name }: Request<'deleteTableBranch'>) {
    const table = findTable(state, id)
    findBranch(table, name ?? '')
    for (const tag of table.tags.values()) if (tag.branch === name) throw new Refused('InvalidTableState')
    table.branches.delete(name ?? '')
    return recorded(state, 'DeleteTableBranch', id)
  },

  listTableBranches(state: State, { id }: Request<'listTableBranches'>) {
    const branches = Array.from(findTable(state, id).branches)
      .filter(([name]) => name !== '')
      .map(([name, { parent }]) => [
        name,
        {
          parentVersion: parent!.version,
          createAt: '#any',
          manifestSize: '#any',
          ...(parent!.branch === '' ? {} : { parentBranch: parent!.branch }),
        },
      ])
    return { branches: Object.fromEntries(branches) as object }
  },
}

/** The version that a tag or branch is to name. */
function targetOf(state: State, table: ModelTable, asked: Parameters<typeof wantedVersion>[2]) {
  const { branch, version } = wantedVersion(state, table, asked)
  return { branch, version: findVersion(table, branch, version).number }
}

type Entry = Omit<Request<'createTableVersion'>, 'identity' | 'context'>

/** Creates a version, or finds the same record. Batches do it without a separate transaction record. */
export function createVersion(state: State, entry: Entry) {
  const branch = findBranch(findTable(state, entry.id), branchName(entry.branch))
  const wanted: Omit<ModelVersion, 'at'> = {
    manifest: entry.manifest_path,
    size: entry.manifest_size ?? undefined,
    etag: entry.e_tag ?? undefined,
    metadata: entry.metadata ?? {},
  }
  const existing = branch.versions.get(entry.version)
  const isUnique = entry.manifest_path.includes('-7d8e9f0a1b2c')
  const { at: _, ...known } = existing ?? { at: 0 }
  if (existing && isUnique && JSON.stringify(known) === JSON.stringify(wanted)) {
    return { created: false, version: shown(entry.version, existing) }
  }
  if (existing || (branch.last !== null && entry.version !== branch.last + 1)) {
    throw new Refused('ConcurrentModification')
  }
  putVersion(state, branch, entry.version, wanted)
  return { created: true, version: shown(entry.version, wanted) }
}

/** Deletes ranges of versions and returns how many there were. */
export function deleteVersions(
  state: State,
  { id, branch, ranges }: Pick<Request<'batchDeleteTableVersions'>, 'id' | 'branch' | 'ranges'>,
): number {
  const table = findTable(state, id)
  const name = branchName(branch)
  const head = findBranch(table, name)
  const doomed = [...head.versions.keys()].filter((version) =>
    ranges.some((r) => version >= r.start_version && (r.end_version === -1 || version < r.end_version)),
  )
  for (const tag of table.tags.values()) {
    if (tag.branch === name && doomed.includes(tag.version)) throw new Refused('InvalidTableState')
  }
  for (const version of doomed) head.versions.delete(version)
  head.latest = head.versions.size === 0 ? null : Math.max(...head.versions.keys())
  return doomed.length
}

function shown(version: number, { manifest, size, etag, metadata, rows }: Omit<ModelVersion, 'at'>) {
  const known = rows
    ? { manifest_size: '#any', e_tag: '#any' }
    : {
        ...(size === undefined ? {} : { manifest_size: size }),
        ...(etag === undefined ? {} : { e_tag: etag }),
      }
  return { version, manifest_path: manifest, timestamp_millis: '#any', metadata, ...known }
}
