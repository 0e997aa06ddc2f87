import { CatalogError } from '../../base/errors.ts'

/** How to open a catalog that must stay as it is. */
export interface ReadOnlyOption {
  /**
   * Opens the catalog for reading: every change is refused with `PermissionDenied`, nothing is written, and the catalog
   * must be there. Works beside processes that change it, and where its folder cannot be written. Default: false.
   */
  readonly readOnly?: boolean
}

/** How to make a copy of a catalog writable. */
export const wayOut =
  'Give the copy rows of its own by tabularium migrate with --adopt-content; or, where the original is gone for good, keep its rows by --keep-content.'

/**
 * The error for a change of a catalog that was opened for reading. `copy` says how its database differs from the one that
 * the catalog lives in, where it is a copy.
 */
export function openedReadOnly(what: string, copy?: string): CatalogError {
  if (copy !== undefined) {
    return new CatalogError(
      'PermissionDenied',
      `${what} changes the catalog, and its database is a copy of the one that the catalog lives in (${copy}): rows of the original would be removed. ${wayOut}`,
    )
  }
  return new CatalogError(
    'PermissionDenied',
    `${what} changes the catalog, which was opened read-only. Open it without readOnly (serve it without --read-only) to change it.`,
  )
}
