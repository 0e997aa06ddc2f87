import type { Identifier } from '../../model/identifier.ts'
import type { OperationName } from '../../operations/index.ts'
import type { Fields } from '../dialects/dialect.ts'

/** A table that only a request's body names, and what is done to it. */
export interface Member {
  readonly operation: OperationName
  readonly id: Identifier
}

const batchMembers: readonly (readonly [string, OperationName])[] = [
  ['declare_table', 'declareTable'],
  ['create_table_version', 'createTableVersion'],
  ['delete_table_versions', 'batchDeleteTableVersions'],
  ['deregister_table', 'deregisterTable'],
]

/** The tables that a request names in its body only. What is malformed is left to the operation to refuse. */
export function membersOf(operation: OperationName, request: Fields): Member[] {
  switch (operation) {
    case 'renameTable':
      return renamed(request)
    case 'batchCreateTableVersions':
      return items(request.entries).flatMap((entry) => member('createTableVersion', entry))
    case 'batchCommitTables':
      return items(request.operations).flatMap((step) =>
        batchMembers.flatMap(([field, operation]) => member(operation, step[field])),
      )
    default:
      return []
  }
}

function renamed({ id, new_namespace_id, new_table_name }: Fields): Member[] {
  const namespace = new_namespace_id ?? (Array.isArray(id) ? id.slice(0, -1) : undefined)
  if (!isIdentifier(namespace) || typeof new_table_name !== 'string') return []
  return [{ operation: 'renameTable', id: [...namespace, new_table_name] }]
}

function member(operation: OperationName, given: unknown): Member[] {
  const id = isFields(given) ? given.id : undefined
  return isIdentifier(id) ? [{ operation, id }] : []
}

function items(given: unknown): Fields[] {
  return Array.isArray(given) ? given.filter(isFields) : []
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

function isIdentifier(value: unknown): value is Identifier {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}
