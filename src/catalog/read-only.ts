import { CatalogError } from '../errors.ts'

/** How to open a catalog that must stay as it is. */
export interface ReadOnlyOption {
  /**
   * Opens the catalog for reading: every change is refused with `PermissionDenied`, nothing is written, and the catalog
   * must be there. Works beside processes that change it, and where its folder cannot be written. Default: false.
   */
  readonly readOnly?: boolean
}

/** The error for a change of a catalog that was opened for reading. */
export function openedReadOnly(what: string): CatalogError {
  return new CatalogError(
    'PermissionDenied',
    `${what} changes the catalog, which was opened read-only. Open it without readOnly (serve it without --read-only) to change it.`,
  )
}
