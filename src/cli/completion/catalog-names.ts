import type { Catalog } from '../../tabularium/index.ts'
import type { Io } from '../io.ts'
import { placeOf } from '../locations/location-argument.ts'
import { openLocation } from '../open.ts'
import type { Candidate } from './candidates.ts'

/** The catalog and the identifier in a command line. */
export interface Where {
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
  { names, ...where }: Where,
  kind: 'table' | 'namespace',
  io: Io,
  signal: AbortSignal,
): Promise<Candidate[]> {
  return withCatalog({ names, ...where }, io, async (catalog) => {
    const { delimiter } = where
    const parts = names.split(delimiter)
    const [parent, begun] = [parts.slice(0, -1), parts.at(-1)!]
    const listed = await Promise.all([
      childrenOf(catalog, 'namespace', parent, begun, signal),
      kind === 'table' ? childrenOf(catalog, 'table', parent, begun, signal) : [],
    ])
    const [namespaces, tables] = listed.map((found) =>
      found
        // A name that contains the delimiter cannot be typed with this delimiter.
        .filter((name) => name.startsWith(begun) && !name.includes(delimiter))
        .map((name) => [...parent, name].join(delimiter)),
    )
    const end = kind === 'table' ? delimiter : ''
    return [
      ...namespaces!.map((name) => ({ value: `${name}${end}`, about: 'namespace' })),
      ...tables!.map((name) => ({ value: name, about: 'table' })),
    ]
  })
}

/** Names in a namespace from `begun` on, inclusive: `start_after` alone would skip a complete name. */
async function childrenOf(
  catalog: Catalog,
  kind: 'table' | 'namespace',
  parent: readonly string[],
  begun: string,
  signal: AbortSignal,
): Promise<string[]> {
  const request = { id: [...parent], limit: most, ...(begun !== '' && { start_after: begun }) }
  if (kind === 'namespace') {
    const [{ namespaces }, isOne] = await Promise.all([
      catalog.listNamespaces(request, { signal }),
      begun === '' || exists(catalog.namespaceExists({ id: [...parent, begun] }, { signal })),
    ])
    return begun !== '' && isOne ? [begun, ...namespaces] : namespaces
  }
  const [{ tables }, isOne] = await Promise.all([
    catalog.listTables({ ...request, recursive: false }, { signal }),
    begun === '' || exists(catalog.tableExists({ id: [...parent, begun] }, { signal })),
  ])
  const own = tables.map((table) => table.split('$').at(-1)!)
  return begun !== '' && isOne ? [begun, ...own] : own
}

function exists(asked: Promise<unknown>): Promise<boolean> {
  return asked.then(
    () => true,
    () => false,
  )
}

export function tagNames(where: Where, io: Io, signal: AbortSignal): Promise<Candidate[]> {
  return withCatalog(where, io, async (catalog) => {
    const { tags } = await catalog.listTableTags({ id: idOf(where), limit: most }, { signal })
    return Object.entries(tags).map(([value, { version }]) => ({ value, about: `version ${version}` }))
  })
}

export function branchNames(where: Where, io: Io, signal: AbortSignal): Promise<Candidate[]> {
  return withCatalog(where, io, async (catalog) => {
    const { branches } = await catalog.listTableBranches({ id: idOf(where), limit: most }, { signal })
    return Object.keys(branches).map((value) => ({ value }))
  })
}

function idOf({ names, delimiter }: Where): string[] {
  return names.split(delimiter)
}

async function withCatalog<T>(
  { location, ...given }: Where,
  io: Io,
  work: (catalog: Catalog) => Promise<T>,
): Promise<T> {
  const place = await placeOf(location, io)
  const token = given.token ?? place.token ?? io.env.TABULARIUM_TOKEN
  const apiKey = given.apiKey ?? place.apiKey ?? io.env.TABULARIUM_API_KEY
  await using catalog = await openLocation(place.location, false, { token, apiKey })
  return await work(catalog)
}
