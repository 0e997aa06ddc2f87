import { type CatalogError, invalid, unsupported } from '../../base/errors.ts'
import { versionQuery } from '../../catalog/local.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import { type Route, wire } from '../../protocol/wire.ts'

/** The operation of a path, and the path segments of its parameters. */
export interface Match {
  readonly operation: OperationName
  readonly route: Route
  /** The segment of `{id}`, not decoded; absent where the path has none. */
  readonly id: string | undefined
  /** The segment of `{index_name}`, not decoded. */
  readonly indexName: string | undefined
  /** Of the path of one blob: its segments of column and row, not decoded. */
  readonly blob?: { readonly column: string; readonly row: string }
}

type NamedRoute = { readonly operation: OperationName; readonly route: Route }

const prefix = '/v1/'

/** Operations by the path before the identifier (`table`), and by the path after the identifier (`tags/list`). */
const byKind = new Map<string, Map<string, NamedRoute>>()
/** Operations without an identifier in the path, by the path after `/v1/`. */
const byPath = new Map<string, NamedRoute>()

for (const [operation, route] of Object.entries(wire)) {
  const named = { operation: operation as OperationName, route }
  const [, kind, verb] = /^\/v1\/(\w+)\/\{id\}\/(.+)$/.exec(route.path) ?? []
  if (kind === undefined || verb === undefined) byPath.set(route.path.slice(prefix.length), named)
  else byKind.set(kind, (byKind.get(kind) ?? new Map()).set(verb, named))
}

/**
 * The operation that a path names. `path` is not decoded and has no query string. `mounted` is the number of path
 * segments of the mount prefix. Extra slashes at the start, and one at the end, are ignored.
 */
export function matchPath(path: string, mounted = 0): Match | undefined {
  let start = mounted === 0 ? 0 : mountEnd(path, mounted)
  if (start < 0) return undefined
  while (path.startsWith('//', start)) start++
  if (!path.startsWith(prefix, start)) return undefined
  const end = path.endsWith('/') ? path.length - 1 : path.length
  const afterKind = path.indexOf('/', start + prefix.length)
  const afterId = afterKind < 0 ? -1 : path.indexOf('/', afterKind + 1)
  if (afterId > 0 && afterId < end) {
    const verbs = byKind.get(path.slice(start + prefix.length, afterKind))
    const verb = path.slice(afterId + 1, end)
    const id = path.slice(afterKind + 1, afterId)
    const named = verbs?.get(verb)
    if (named) return { operation: named.operation, route: named.route, id, indexName: undefined }
    const indexed = verbs && matchIndex(verbs, verb)
    if (indexed) return { ...indexed, id }
    const [, column, row] = (verbs?.has('fetch_blobs') && blobVerb.exec(verb)) || []
    if (column !== undefined && row !== undefined)
      return {
        operation: 'fetchTableBlobs',
        route: blobRoute,
        id,
        indexName: undefined,
        blob: { column, row },
      }
  }
  const named = byPath.get(path.slice(start + prefix.length, end))
  return named && { ...named, id: undefined, indexName: undefined }
}

function matchIndex(verbs: Map<string, NamedRoute>, verb: string): Omit<Match, 'id'> | undefined {
  const [, indexName, rest] = /^index\/([^/]+)\/([^/]+)$/.exec(verb) ?? []
  const named = indexName === undefined ? undefined : verbs.get(`index/{index_name}/${rest}`)
  return named && { ...named, indexName }
}

/** The path of one blob, as it is or in ranges. LanceDB's remote client reads its handles of blobs so. */
const blobVerb = /^blob\/([^/]+)\/([^/]+)\/bytes$/
const blobRoute: Route = {
  ...wire.fetchTableBlobs,
  methods: ['GET'],
  query: versionQuery,
  body: 'none',
}

/** The offset of the path after the mount prefix; negative when the path is shorter. */
export function mountEnd(path: string, mounted: number): number {
  let start = 0
  for (let i = 0; i < mounted && start >= 0; i++) start = path.indexOf('/', start + 1)
  return start
}

/** The error for an unknown path. Its answer has status 404, unlike other errors of this code. */
export function unknownRoute(method: string, path: string): CatalogError {
  return unsupported(
    `There is no ${method} ${path.slice(0, 200)} here.`,
    'See /openapi.json for what there is.',
  )
}

/** The value of the `Allow` header of a route. */
export function allowedMethods({ methods }: Route): string {
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
}

/** The error for a method that the route does not support. */
export function wrongMethod({ methods }: Route, method: string): CatalogError {
  return invalid(`${method} is not a method of this path. Use ${methods.join(' or ')}.`)
}
