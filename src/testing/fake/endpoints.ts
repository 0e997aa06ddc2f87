import type { Identifier } from '../../base/model/identifier.ts'
import type { Mount, MountedRequest, MountedRoute } from '../../server/mount.ts'
import { localHandle } from '../../tabularium/local-handle.ts'
import type { MemoryCatalog } from '../../tabularium/open.ts'
import type { ManualClock } from './clock.ts'
import type { FakeCatalog } from './fake.ts'
import type { FaultTarget } from './fault.ts'
import type { FaultSet } from './faults.ts'
import type { Internals } from './internals.ts'
import { withEffects } from './run.ts'

type RequestLine = Parameters<Mount['route']>[0]

/**
 * The endpoints of another protocol over a fake, with the faults for them. `mounted` makes them for a catalog: a stale
 * answer comes from the state in which its fault was added.
 */
export function withFaults(fake: FakeCatalog, mounted: (catalog: MemoryCatalog) => Mount): Mount {
  const mount = mounted(fake)
  const faults = fake.faults as FaultSet
  const run = async (line: RequestLine, route: MountedRoute, request: MountedRequest) => {
    if (faults.isEmpty) return route.run(request)
    const call = {
      operation: route.name as FaultTarget,
      changes: route.changes,
      named: namedBy(route.subject ?? [], request.body),
      request: isObject(request.body) ? request.body : {},
    }
    const taken = faults.takeEndpoint(call)
    const stale = taken.find(({ fault }) => fault.stale !== undefined)
    if (stale !== undefined && stale.fault.delay === undefined && stale.fault.fail === undefined)
      stale.fired++
    const answering =
      stale === undefined ? route : mounted(localHandle((stale.state as Internals).core)).route(line)
    const clock = fake.clock as ManualClock
    return withEffects(clock, taken, route.name, request.options, () => answering.run(request))
  }
  return {
    ...mount,
    route: (line) => {
      const route = mount.route(line)
      return { ...route, run: (request) => run(line, route, request) }
    },
  }
}

/** What a request names: the namespace or table of its path, what its body adds to that, and what its body names. */
function namedBy(subject: Identifier, body: unknown): Identifier[] {
  const found: Identifier[] = [subject]
  if (!isObject(body)) return found
  const { name, namespace, identifier, source, destination, 'table-changes': changes } = body
  if (typeof name === 'string') found.push([...subject, name])
  if (isNames(namespace)) found.push(namespace)
  const members = [identifier, source, destination]
  if (Array.isArray(changes))
    for (const change of changes as readonly unknown[]) if (isObject(change)) members.push(change.identifier)
  for (const member of members)
    if (isObject(member) && isNames(member.namespace) && typeof member.name === 'string')
      found.push([...member.namespace, member.name])
  return found
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}
