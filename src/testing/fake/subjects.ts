import { sameNames } from '../../model/identifier.ts'
import type { Fault, Matched } from './fault.ts'

type Names = readonly string[]

/** Whether a fault is for a call, before it is counted. */
export function isFor(fault: Fault, call: Matched, changes: boolean): boolean {
  const { operation, table, namespace, running, stale, match } = fault
  if (operation !== undefined) {
    const named =
      typeof operation === 'string' ? operation === call.operation : operation.includes(call.operation)
    if (!named) return false
  }
  if (running !== undefined && !changes) return false
  if (stale !== undefined && changes) return false
  if (stale === 'token' && !call.request.page_token) return false
  if (table !== undefined || namespace !== undefined) {
    const subjects = subjectsOf(call.request)
    if (table !== undefined && !subjects.some((id) => sameNames(id, table))) return false
    if (namespace !== undefined && !subjects.some((id) => isWithin(id, namespace))) return false
  }
  return match === undefined || match(call) === true
}

/** Every identifier that a request names: its own, where it renames to, and those of the items of a batch. */
function subjectsOf(request: Readonly<Record<string, unknown>>): Names[] {
  const { id, new_table_name, new_namespace_id, entries, operations } = request
  const found: unknown[] = [id]
  if (Array.isArray(id) && typeof new_table_name === 'string') {
    const namespace = Array.isArray(new_namespace_id) ? new_namespace_id : id.slice(0, -1)
    found.push([...namespace, new_table_name])
  }
  for (const entry of listOf(entries)) found.push(idOf(entry))
  for (const step of listOf(operations)) {
    if (typeof step === 'object' && step !== null) found.push(...Object.values(step).map(idOf))
  }
  return found.filter(isNames)
}

function listOf(given: unknown): readonly unknown[] {
  return Array.isArray(given) ? given : []
}

function idOf(given: unknown): unknown {
  return typeof given === 'object' && given !== null ? (given as { id?: unknown }).id : undefined
}

function isNames(given: unknown): given is Names {
  return Array.isArray(given) && given.every((name) => typeof name === 'string')
}

function isWithin(id: Names, namespace: Names): boolean {
  return id.length >= namespace.length && namespace.every((name, i) => id[i] === name)
}
