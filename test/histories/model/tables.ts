import type { Identifier } from '../../../src/base/model/identifier.ts'
import { drop } from './dropped.ts'
import { ruleOf } from './retention.ts'
import { findVersionOfRows, insertRows } from './rows.ts'
import {
  type Actual,
  branchName,
  changeProperties,
  findBranch,
  findNamespace,
  findTable,
  findVersion,
  isDeclared,
  lookUp,
  type ModelTable,
  newBranch,
  newKey,
  overlap,
  putVersion,
  Refused,
  type Registration,
  type Row,
  recorded,
  requireFree,
  type State,
  symbol,
  walk,
  wantedVersion,
} from './state.ts'
import type { Request } from './types.ts'

export const tables = {
  declareTable(state: State, request: Request<'declareTable'>, actual: Actual) {
    const { location, properties } = declare(state, request, actual)
    return { location, properties, ...recorded(state, 'DeclareTable', request.id) }
  },

  createTable(state: State, { id, mode, properties, data }: Request<'createTable'>): object {
    const parent = findNamespace(state, id.slice(0, -1))
    const existing = lookUp(state, id)
    if (existing?.kind === 'namespace') throw new Refused('TableAlreadyExists')
    if (existing && existing.branches.get('')!.latest === null && !existing.registered) {
      if (properties) throw new Refused('InvalidInput')
      const { version, transaction_id } = insertRows(state, { id, data }, 'CreateTable')
      return { location: existing.location, properties: existing.properties, version, transaction_id }
    }
    if (existing && mode === 'ExistOk') {
      const { location, properties, branches } = existing
      return { location, properties, version: branches.get('')!.latest ?? 0 }
    }
    if (existing && mode !== 'Overwrite') throw new Refused('TableAlreadyExists')
    if (existing) drop(state, existing, id)
    const table = emptyTable(state, symbol(state, 'L'), properties ?? {}, false)
    putVersion(state, table.branches.get('')!, 1, {
      manifest: '#any',
      metadata: {},
      rows: [...(data as unknown as Row[])],
      schemaMetadata: {},
    })
    parent.children.set(id.at(-1)!, table)
    return {
      location: table.location,
      version: 1,
      properties: table.properties,
      ...recorded(state, 'CreateTable', id),
    }
  },

  cloneTable(state: State, asked: Request<'cloneTable'>): object {
    const { id, source, source_location, source_branch, source_version, source_tag, source_at } = asked
    const isNamedTwice = source_version != null || branchName(source_branch) !== '' || source_at != null
    if (source_at != null && source_version != null) throw new Refused('InvalidInput')
    if (source_tag != null && isNamedTwice) throw new Refused('InvalidInput')
    const parent = findNamespace(state, id.slice(0, -1))
    requireFree(state, id, 'TableAlreadyExists')
    const from = source ?? tableAt(state, checkLocation(source_location!))
    const wanted = wantedVersion(state, findTable(state, from), {
      branch: source_branch,
      version: source_version,
      tag: source_tag,
      at: source_at,
    })
    const { found } = findVersionOfRows(state, from, wanted.branch, wanted.version)
    const properties = asked.properties ?? findTable(state, from).properties
    const table = emptyTable(state, symbol(state, 'L'), properties, false)
    putVersion(state, table.branches.get('')!, 1, found)
    parent.children.set(id.at(-1)!, table)
    if (asked.is_shallow !== false) share(state, table, findTable(state, from))
    return { location: table.location, version: 1, properties, ...recorded(state, 'CloneTable', id) }
  },

  registerTable(
    state: State,
    { id, location: given, mode, properties }: Request<'registerTable'>,
    actual: Actual,
  ) {
    const location = checkLocation(given)
    const parent = findNamespace(state, id.slice(0, -1))
    const existing = lookUp(state, id)
    if (existing?.kind === 'table' && mode === 'Overwrite') deregister(state, id)
    else requireFree(state, id, 'TableAlreadyExists')
    claim(state, location, actual, true)
    const known = state.deregistered.get(location)
    state.deregistered.delete(location)
    const table: ModelTable = {
      ...emptyTable(state, location, properties ?? known?.properties ?? {}, true),
      ...(known && structuredClone({ branches: known.branches, tags: known.tags })),
    }
    parent.children.set(id.at(-1)!, table)
    return { location, properties: table.properties, ...recorded(state, 'RegisterTable', id) }
  },

  deregisterTable(state: State, { id }: Request<'deregisterTable'>) {
    const table = deregister(state, id)
    const { location, properties } = table
    return { id, location, properties, ...recorded(state, 'DeregisterTable', id, table) }
  },

  dropTable(state: State, { id, purge }: Request<'dropTable'>) {
    const table = findTable(state, id)
    drop(state, table, id, purge ?? false)
    findNamespace(state, id.slice(0, -1)).children.delete(id.at(-1)!)
    return {
      id,
      location: table.location,
      properties: table.properties,
      ...recorded(state, 'DropTable', id, table),
    }
  },

  updateTableProperties(state: State, request: Request<'updateTableProperties'>) {
    const { id } = request
    const table = findTable(state, id)
    return changeProperties(state, { operation: 'UpdateTableProperties', id }, table, request)
  },

  renameTable(state: State, { id, new_table_name, new_namespace_id }: Request<'renameTable'>) {
    const table = findTable(state, id)
    const namespace = new_namespace_id ?? id.slice(0, -1)
    const target = findNamespace(state, namespace)
    requireFree(state, [...namespace, new_table_name], 'TableAlreadyExists')
    findNamespace(state, id.slice(0, -1)).children.delete(id.at(-1)!)
    target.children.set(new_table_name, table)
    const answer = recorded(state, 'RenameTable', id, table)
    if (new_namespace_id == null) return answer
    return { ...answer, context: { renamed_to: [...namespace, new_table_name].join('$') } }
  },

  tableExists(state: State, { id, version }: Request<'tableExists'>) {
    const table = findTable(state, id)
    if (version !== undefined && version !== null) findVersion(table, '', version)
    return {}
  },

  listTables: (state: State, { id, include_declared }: Request<'listTables'>) => ({
    tables: Array.from(walk(findNamespace(state, id), id))
      .filter(([, found]) => found.kind === 'table' && (include_declared !== false || !isDeclared(found)))
      .map(([path]) => path.join('$')),
  }),

  listAllTables: (state: State, request: Request<'listAllTables'>) =>
    tables.listTables(state, { ...request, id: [] }),

  describeTable(state: State, asked: Request<'describeTable'>): object {
    const { id, load_detailed_metadata: detailed } = asked
    const table = findTable(state, id)
    const { location, properties } = table
    const retention = ruleOf(state, table)
    const at = wantedVersion(state, table, asked)
    const { latest } = findBranch(table, at.branch)
    const picked = at.version !== null || latest !== null ? findVersion(table, at.branch, at.version) : null
    const { number, found } = picked ?? {}
    return {
      location,
      properties,
      ...(retention && { retention }),
      ...(asked.check_declared || detailed ? { is_only_declared: isDeclared(table) } : {}),
      ...(detailed ? { table: id.at(-1), namespace: id.slice(0, -1) } : {}),
      ...(detailed && picked ? { version: number } : {}),
      ...(detailed && found?.rows ? { schema: '#any', stats: '#any', metadata: found.schemaMetadata } : {}),
    }
  },
}

/** Declares a table. Batches do it without a separate transaction record. */
export function declare(
  state: State,
  { id, location, properties }: Pick<Request<'declareTable'>, 'id' | 'location' | 'properties'>,
  actual: Actual,
): ModelTable {
  const given = location == null ? undefined : checkLocation(location)
  const parent = findNamespace(state, id.slice(0, -1))
  requireFree(state, id, 'TableAlreadyExists')
  if (given !== undefined) claim(state, given, actual)
  const at = given ?? symbol(state, 'L')
  const table = emptyTable(state, at, properties ?? {}, false)
  parent.children.set(id.at(-1)!, table)
  return table
}

/** Removes a table from its namespace. Its state stays at its location. */
export function deregister(state: State, id: Identifier): ModelTable {
  const table = findTable(state, id)
  const { properties, branches, tags } = table
  state.deregistered.set(table.location, structuredClone({ properties, branches, tags }) as Registration)
  findNamespace(state, id.slice(0, -1)).children.delete(id.at(-1)!)
  return table
}

/** Records which files a clone may refer to: those of its source, and those that the source refers to. */
function share(state: State, clone: ModelTable, source: ModelTable): void {
  state.shares.set(clone.location, [source.location, ...(state.shares.get(source.location) ?? [])])
}

/** Normalizes a location, and refuses an invalid one. */
export function checkLocation(location: string): string {
  if (!location.startsWith('#') && !location.includes('://')) throw new Refused('InvalidInput')
  return location.replace(/\/+$/, '')
}

/** The name of the table at a location. */
function tableAt(state: State, location: string): Identifier {
  for (const [id, found] of walk(state.root, [])) {
    if (found.kind === 'table' && found.location === location) return id
  }
  throw new Refused('TableNotFound')
}

/**
 * Refuses a location that equals, contains or is inside of another table's. Only the catalog knows whether content of
 * dropped tables still exists.
 */
function claim(state: State, location: string, { error, removing }: Actual, isRegistration = false): void {
  const taken = Array.from(walk(state.root, []), ([, found]) =>
    found.kind === 'table' ? [found.location] : [],
  )
  // Only a registration may take content that waits.
  const waiting = [...state.deregistered.keys()].filter((at) => !(isRegistration && at === location))
  const held = state.held.map(({ table }) => table.location)
  const overlaps = (at: string) => overlap(at, location)
  if ([...taken.flat(), ...waiting, ...held].some(overlaps)) throw new Refused('TableAlreadyExists')
  if (error === 'ConcurrentModification' && removing.some(overlaps)) throw new Refused(error)
  // Files that clones refer to stay at the location of a dropped table.
  const shared = [...state.shares.values()].flat().filter((at) => !state.deregistered.has(at))
  if (error === 'TableAlreadyExists' && shared.some(overlaps)) throw new Refused(error)
}

function emptyTable(
  state: State,
  location: string,
  properties: Readonly<Record<string, string>>,
  registered: boolean,
): ModelTable {
  return {
    kind: 'table',
    key: newKey(state),
    location,
    registered,
    properties,
    branches: new Map([['', newBranch()]]),
    tags: new Map(),
  }
}
