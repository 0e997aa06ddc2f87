import type { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { IcebergError } from '../errors.ts'
import type { Kind } from './formats.ts'

/** An identifier as messages of Iceberg write it. */
export function shownName(id: Identifier): string {
  return id.join('.')
}

const titles = { table: 'Table', view: 'View' } as const

/** The error for a table or view that does not exist. */
export function missing(kind: Kind, id: Identifier): IcebergError {
  return new IcebergError(
    kind === 'table' ? 'NoSuchTableException' : 'NoSuchViewException',
    `${titles[kind]} does not exist: ${shownName(id)}`,
  )
}

/** The error for a table of another format, which no client of Iceberg can read. */
export function otherFormat(kind: Kind, id: Identifier, format: string | undefined): IcebergError {
  const what = format === undefined ? 'a table of another format' : `a table of the format ${format}`
  return new IcebergError(
    kind === 'table' ? 'NoSuchTableException' : 'NoSuchViewException',
    `${titles[kind]} does not exist: ${shownName(id)} is ${what}`,
  )
}

export function alreadyExists(kind: Kind, id: Identifier, existing: Kind | undefined = kind): IcebergError {
  const what = existing === kind ? titles[kind] : `${titles[existing ?? 'table']} with same name`
  return new IcebergError('AlreadyExistsException', `${what} already exists: ${shownName(id)}`)
}

/** The error for a new name that is taken. */
export function cannotRename(from: Identifier, to: Identifier, taken: Kind = 'table'): IcebergError {
  return new IcebergError(
    'AlreadyExistsException',
    `Cannot rename ${shownName(from)} to ${shownName(to)}. ${titles[taken]} already exists`,
  )
}

export function missingNamespace(id: Identifier): IcebergError {
  return new IcebergError('NoSuchNamespaceException', `Namespace does not exist: ${shownName(id)}`)
}

/** What a request is about, for errors. */
export interface About {
  readonly kind?: Kind
  /** The table or view. */
  readonly id?: Identifier
  readonly namespace?: Identifier
  /** The namespace that must be there. Default: `namespace`. */
  readonly parent?: Identifier
}

/** An error of the catalog in terms of Iceberg; undefined where its code says enough. */
export function ofCatalog(
  { code, message, mayBeDone }: CatalogError,
  about: About,
): IcebergError | undefined {
  if (mayBeDone) return new IcebergError('CommitStateUnknownException', message)
  const { kind = 'table', id, namespace = id?.slice(0, -1), parent = namespace } = about
  switch (code) {
    case 'TableNotFound':
      return id && missing(kind, id)
    case 'NamespaceNotFound':
      return parent && missingNamespace(parent)
    case 'NamespaceAlreadyExists':
      return (
        namespace &&
        new IcebergError(
          'AlreadyExistsException',
          `Namespace already exists: ${shownName(namespace)}. ${message}`,
        )
      )
    case 'NamespaceNotEmpty':
      return (
        namespace &&
        new IcebergError(
          'NamespaceNotEmptyException',
          `Namespace is not empty: ${shownName(namespace)}. ${message}`,
        )
      )
    case 'TableAlreadyExists':
      return new IcebergError('AlreadyExistsException', message)
    case 'ConcurrentModification':
      return new IcebergError('CommitFailedException', message)
    default:
      return undefined
  }
}
