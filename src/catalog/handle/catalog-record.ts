import { randomBytes } from 'node:crypto'
import { invalid, unsupported } from '../../base/errors.ts'
import { type CatalogRecord, catalogFormat, keys, newestFormat } from '../../base/store/records.ts'
import type { Store } from '../../base/store/store.ts'

/** The catalog's record of itself; undefined when there is no catalog yet. */
export function readRecord(store: Store): Promise<CatalogRecord | undefined> {
  return store.read((reader) => reader.get<CatalogRecord>(keys.catalog))
}

/** Refuses a catalog of another format, or with another content than the given one. */
export function checkRecord(found: CatalogRecord, content: string | undefined, isCopy = false): void {
  if (found.v < catalogFormat || found.v > newestFormat) {
    const [which, way] =
      found.v > newestFormat
        ? ['a newer', 'Open it with that release.']
        : ['an older', 'Export it with that release, and import it with this one.']
    throw unsupported(
      `This catalog has format ${found.v}, written by ${which} release; this one knows formats ${catalogFormat} to ${newestFormat}.`,
      way,
    )
  }
  if (content === undefined || placeOf(found.content) === placeOf(content)) return
  const where = found.content === undefined ? 'with its records' : `at ${placeOf(found.content)}`
  if (isCopy) {
    throw invalid(
      `This database is a copy of the one that the catalog lives in, which keeps its rows ${where}. To give the copy rows of its own at ${placeOf(content)}, run tabularium migrate with --adopt-content.`,
    )
  }
  throw invalid(
    `This catalog keeps its rows ${where}, not at ${placeOf(content)}. Leave out the option content. To move the rows, copy the catalog into a new one (tabularium copy, or copyCatalog).`,
  )
}

/** The URL of a content without its parameters, which say how to reach it and may change. */
export function placeOf(content: string | undefined): string | undefined {
  return content?.replace(/[?#].*$/s, '').replace(/\/*$/, '/')
}

/**
 * Creates the record of a new catalog. If another process was first, returns that one's record, and `isNew` is false.
 */
export function createRecord(
  store: Store,
  now: () => number,
  content: string | undefined,
): Promise<{ readonly catalog: CatalogRecord; readonly isNew: boolean }> {
  const home = store.home?.()
  const record: CatalogRecord = {
    v: newestFormat,
    id: randomBytes(8).toString('hex'),
    secret: randomBytes(16).toString('hex'),
    created_at: now(),
    ...(content !== undefined && { content }),
    ...(home !== undefined && { home }),
  }
  return store.write((writer) => {
    // Another process may have created the catalog since.
    const existing = writer.get<CatalogRecord>(keys.catalog)
    if (existing) return { catalog: existing, isNew: false }
    writer.put(keys.catalog, record)
    return { catalog: record, isNew: true }
  })
}

/** Removes the record of a catalog that could not be opened. */
export function removeRecord(store: Store, { id }: CatalogRecord): Promise<void> {
  return store.write((writer) => {
    if (writer.get<CatalogRecord>(keys.catalog)?.id === id) writer.remove(keys.catalog)
  })
}
