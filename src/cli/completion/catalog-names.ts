import type { Catalog } from '../../tabularium/index.ts'
import type { Io } from '../io.ts'
import { resolveLocation } from '../locations/location-argument.ts'
import { openLocation } from '../open.ts'
import type { Candidate } from './candidates.ts'

/** The catalog and the identifier in a command line. */
export interface CompletionTarget {
  readonly location: string
  /** The identifier typed so far. */
  readonly names: string
  readonly delimiter: string
  readonly token: string | undefined
  readonly apiKey: string | undefined
}

/** The most completions of one kind. */
const most = 200

/** Namespaces that begin with the typed text. For a table, also tables, and each namespace ends in the delimiter. */
export function namesIn(
  { names, ...target }: CompletionTarget,
  kind: 'table' | 'namespace',
  io: Io,
  signal: AbortSignal,
): Promise<Candidate[]> {
  return withCatalog({ names, ...target }, io, async (catalog) => {
    const { delimiter } = target
    const parts = names.split(delimiter)
    const [parent, prefix] = [parts.slice(0, -1), parts.at(-1)!]
    const listed = await Promise.all([
      childrenOf(catalog, 'namespace', parent, prefix, signal),
      kind === 'table' ? childrenOf(catalog, 'table', parent, prefix, signal) : [],
    ])
    const [namespaces, tables] = listed.map((found) =>
      found
        // A name that contains the delimiter cannot be typed with this delimiter.
        .filter((name) => name.startsWith(prefix) && !name.includes(delimiter))
        .map((name) => [...parent, name].join(delimiter)),
    )
    const end = kind === 'table' ? delimiter : ''
    return [
      ...namespaces!.map((name) => ({ value: `${name}${end}`, about: 'namespace' })),
      ...tables!.map((name) => ({ value: name, about: 'table' })),
    ]
  })
}

/** Names in a namespace from `prefix` on, inclusive: `start_after` alone would skip a complete name. */
async function childrenOf(
  catalog: Catalog,
  kind: 'table' | 'namespace',
  parent: readonly string[],
  prefix: string,
  signal: AbortSignal,
): Promise<string[]> {
  const request = { id: [...parent], limit: most, ...(prefix !== '' && { start_after: prefix }) }
  if (kind === 'namespace') {
    const [{ namespaces }, isOne] = await Promise.all([
      catalog.listNamespaces(request, { signal }),
      prefix === '' || exists(catalog.namespaceExists({ id: [...parent, prefix] }, { signal })),
    ])
    return prefix !== '' && isOne ? [prefix, ...namespaces] : namespaces
  }
  const [{ tables }, isOne] = await Promise.all([
    catalog.listTables({ ...request, recursive: false }, { signal }),
    prefix === '' || exists(catalog.tableExists({ id: [...parent, prefix] }, { signal })),
  ])
  const own = tables.map((table) => table.split('$').at(-1)!)
  return prefix !== '' && isOne ? [prefix, ...own] : own
}

function exists(asked: Promise<unknown>): Promise<boolean> {
  return asked.then(
    () => true,
    () => false,
  )
}

export function tagNames(target: CompletionTarget, io: Io, signal: AbortSignal): Promise<Candidate[]> {
  return withCatalog(target, io, async (catalog) => {
    const { tags } = await catalog.listTableTags({ id: idOf(target), limit: most }, { signal })
    return Object.entries(tags).map(([value, { version }]) => ({ value, about: `version ${version}` }))
  })
}

export function branchNames(target: CompletionTarget, io: Io, signal: AbortSignal): Promise<Candidate[]> {
  return withCatalog(target, io, async (catalog) => {
    const { branches } = await catalog.listTableBranches({ id: idOf(target), limit: most }, { signal })
    return Object.keys(branches).map((value) => ({ value }))
  })
}

function idOf({ names, delimiter }: CompletionTarget): string[] {
  return names.split(delimiter)
}

async function withCatalog<T>(
  { location, ...given }: CompletionTarget,
  io: Io,
  work: (catalog: Catalog) => Promise<T>,
): Promise<T> {
  const resolved = await resolveLocation(location, io)
  const token = given.token ?? resolved.token ?? io.env.TABULARIUM_TOKEN
  const apiKey = given.apiKey ?? resolved.apiKey ?? io.env.TABULARIUM_API_KEY
  await using catalog = await openLocation(resolved.location, false, { token, apiKey })
  return await work(catalog)
}
