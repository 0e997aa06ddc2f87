import { badRequest, IcebergError } from '../errors.ts'
import { catalogEndpoints } from './catalog.ts'
import type { Endpoint, Variables } from './endpoint.ts'
import { nameInPath, namespaceInPath } from './names.ts'
import { namespaceEndpoints } from './namespaces.ts'
import { signingEndpoint } from './signing.ts'
import { tableEndpoints } from './tables.ts'
import { viewEndpoints } from './views.ts'

/** All endpoints. */
export const endpoints: readonly Endpoint[] = [
  ...catalogEndpoints(() => endpoints),
  ...namespaceEndpoints,
  ...tableEndpoints,
  signingEndpoint,
  ...viewEndpoints,
]

const patterns = endpoints.map((endpoint) => ({ endpoint, segments: endpoint.path.split('/') }))

/** Finds the endpoint for a request. `path` begins with `/v1/` and is not decoded. */
export function findEndpoint(method: string, path: string): { endpoint: Endpoint; variables: Variables } {
  const [empty, version, ...segments] = path.split('/')
  const matching =
    empty === '' && version === 'v1'
      ? patterns.filter(({ segments: pattern }) => matches(pattern, segments))
      : []
  const found = matching.find(({ endpoint }) => endpoint.method === method)
  if (found !== undefined)
    return { endpoint: found.endpoint, variables: variablesIn(found.segments, segments) }
  if (matching.length === 0) throw badRequest(`No route for request: ${method} ${path.slice(0, 200)}`)
  const methods = matching.map(({ endpoint }) => endpoint.method).join(', ')
  throw new IcebergError(
    'UnsupportedOperationException',
    `${method} is not a method of this path. Use ${methods}.`,
    { status: 405 },
  )
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, i) => (part.startsWith('{') ? segments[i] !== '' : part === segments[i]))
  )
}

function variablesIn(pattern: readonly string[], segments: readonly string[]): Variables {
  const at = (name: string) => {
    const index = pattern.indexOf(name)
    return index < 0 ? undefined : segments[index]
  }
  const namespace = at('{namespace}')
  const name = at('{name}')
  return {
    namespace: namespace === undefined ? [] : namespaceInPath(namespace),
    name: name === undefined ? '' : nameInPath(name),
  }
}
