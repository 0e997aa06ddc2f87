import { CatalogError, unsupported } from '../../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../../base/model/identifier.ts'
import { createNamespace } from '../../operations/create-namespace.ts'
import { createTable } from '../../operations/create-table.ts'
import { createTableIndex } from '../../operations/create-table-index.ts'
import { createTableVersion } from '../../operations/create-table-version.ts'
import { declareTable } from '../../operations/declare-table.ts'
import type { Invocable } from '../../operations/framework/operation.ts'
import { insertIntoTable } from '../../operations/insert-into-table.ts'
import type { TableInPlace } from './export.ts'
import type { ImportOptions, ImportReport } from './import.ts'
import { type ExportItem, exportItems } from './read-export.ts'

/**
 * Imports the latest rows of an export into any catalog, including one behind a server, through its operations.
 * Creates the namespaces that are missing, and each table as a new one with its properties and indexes. Does not import versions,
 * tags and branches; `importFrom` of a local catalog does. An error says how many tables were imported before, and
 * whether one was imported in part. `Unsupported` before anything is imported, where tables come as files of Lance.
 */
export async function importTables(
  catalog: Invocable,
  source: string,
  options: ImportOptions = {},
): Promise<ImportReport> {
  await requireRows(source, options.signal)
  const withoutRows: Identifier[] = []
  const inPlace: TableInPlace[] = []
  const report = { namespaces: 0, tables: 0, versions: 0, rows: 0, withoutRows, inPlace }
  try {
    for await (const item of exportItems(source)) {
      options.signal?.throwIfAborted()
      if (item.kind === 'namespace') {
        const { id, json } = item
        const request = { id: [...id], properties: json.properties, mode: 'ExistOk' as const }
        await createNamespace(catalog, request, options.signal && { signal: options.signal })
        report.namespaces++
      } else {
        const imported = await importTable(catalog, item, options.signal)
        report.tables++
        if (imported === 'without rows') withoutRows.push(item.id)
        else report.versions++
        if (imported === 'in place') inPlace.push({ id: item.id, location: item.json.location! })
        report.rows += typeof imported === 'number' ? imported : 0
        options.onProgress?.({ ...report })
      }
    }
    return report
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    throw new CatalogError(
      error.code,
      `${error.message} Before this error, ${report.tables} tables of the export were imported.`,
      {
        cause: error,
      },
    )
  }
}

const maxNamed = 5

/** Reads all of an export, so that a fault of it is told first. Operations take rows, and no files of Lance. */
async function requireRows(source: string, signal: AbortSignal | undefined): Promise<void> {
  const ofLance: string[] = []
  for await (const item of exportItems(source)) {
    signal?.throwIfAborted()
    if (item.kind === 'table' && item.dataset !== undefined) ofLance.push(formatIdentifier(item.id))
  }
  if (ofLance.length === 0) return
  const more =
    ofLance.length > maxNamed ? ` and ${(ofLance.length - maxNamed).toLocaleString('en')} more` : ''
  throw unsupported(
    `Tables of this export come as files of Lance, which a server does not take: ${ofLance.slice(0, maxNamed).join(', ')}${more}. Nothing was imported.`,
    'Import it where the catalog of the server lies: name its directory or database in place of the URL.',
  )
}

/** Imports a table. Returns its number of rows, or what else became of it when the export has no rows of it. */
async function importTable(
  catalog: Invocable,
  { id, json, rows }: Extract<ExportItem, { readonly kind: 'table' }>,
  signal: AbortSignal | undefined,
): Promise<number | 'without rows' | 'in place'> {
  const { versions, main, properties, location } = json
  const own = { id: [...id], properties, ...(location === undefined ? {} : { location }) }
  const latest = versions.find(({ branch, version }) => branch === '' && version === main.latest)
  const [first, ...further] = latest?.files ?? []
  const options = signal && { signal }
  if (first === undefined) {
    await declareTable(catalog, own, options)
    if (latest?.manifest_path === undefined) return 'without rows'
    const { version, manifest_path, manifest_size, metadata } = latest
    const pointer = { manifest_path, manifest_size: manifest_size ?? null, metadata: metadata ?? null }
    await createTableVersion(catalog, { id: own.id, version, ...pointer }, options)
    return 'in place'
  }
  await createTable(catalog, { id: own.id, properties, data: await rows(first) }, options)
  try {
    for (const name of further) {
      await insertIntoTable(catalog, { id: own.id, data: await rows(name) }, options)
    }
    for (const { name, column, type, parameters } of latest?.indices ?? []) {
      await createTableIndex(catalog, { id: own.id, column, index_type: type, name, ...parameters }, options)
    }
  } catch (cause) {
    if (!(cause instanceof CatalogError)) throw cause
    throw new CatalogError(cause.code, `${formatIdentifier(id)} is imported in part: ${cause.message}`, {
      cause,
    })
  }
  return latest?.rows ?? 0
}
