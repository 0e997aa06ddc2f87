import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type * as v from 'valibot'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { type Identifier, maxDepth } from '../../../base/model/identifier.ts'
import type { ArrowTable } from '../../../base/model/rows-source.ts'
import type { DatasetCopy } from '../../lance/copy-dataset.ts'
import { requireFolderPath } from '../folders.ts'
import {
  catalogFile,
  catalogJson,
  type NamespaceJson,
  namespaceFile,
  namespaceJson,
  parseJson,
  type TableJson,
  tableFile,
  tableJson,
} from './format.ts'
import { exportedDataset } from './lance.ts'

/** A namespace or table of an export. A namespace comes before its content. */
export type ExportItem =
  | { readonly kind: 'namespace'; readonly id: Identifier; readonly json: NamespaceJson }
  | {
      readonly kind: 'table'
      readonly id: Identifier
      readonly json: TableJson
      /** The rows of one of its row files: as Arrow data, or as tables that are read as they are written. */
      readonly rows: (name: string) => Promise<Uint8Array | AsyncIterable<ArrowTable>>
      /** The files of Lance that have its rows instead; undefined where it has none. */
      readonly dataset: ((signal?: AbortSignal) => Promise<DatasetCopy | undefined>) | undefined
      /** Its path, for errors. */
      readonly where: string
    }

export async function* exportItems(source: string): AsyncGenerator<ExportItem> {
  const directory = requireFolderPath(source)
  await readJson(
    catalogJson,
    join(directory, catalogFile),
    `There is no export in ${directory}: check the path.`,
  )
  yield* below(directory, [])
}

async function* below(folder: string, parent: Identifier): AsyncGenerator<ExportItem> {
  if (parent.length > maxDepth)
    throw invalid(`${folder} is nested deeper than namespaces may be. Check the export.`)
  const items = await readdir(folder, { withFileTypes: true })
  for (const item of items
    .filter((found) => found.isDirectory())
    .sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, item.name)
    const names = await readdir(path)
    if (names.includes(tableFile)) {
      const json = await readJson(tableJson, join(path, tableFile))
      const rows = (name: string) => readRowsFile(path, name)
      const dataset = json.dataset && ((signal?: AbortSignal) => exportedDataset(path, json, signal))
      yield { kind: 'table', id: [...parent, json.name], json, rows, dataset, where: path }
    } else if (names.includes(namespaceFile)) {
      const json = await readJson(namespaceJson, join(path, namespaceFile))
      const id = [...parent, json.name]
      yield { kind: 'namespace', id, json }
      yield* below(path, id)
    } else {
      throw invalid(`${path} holds neither ${tableFile} nor ${namespaceFile}. Remove it, or export again.`)
    }
  }
}

async function readJson<T extends v.GenericSchema>(
  schema: T,
  path: string,
  missing?: string,
): Promise<v.InferOutput<T>> {
  const text = await readFile(path, 'utf8').catch((cause) => {
    throw invalid(missing ?? `${path} cannot be read. Check the export.`, { cause })
  })
  return parseJson(schema, text, path)
}

async function readRowsFile(folder: string, name: string): Promise<Uint8Array | AsyncIterable<ArrowTable>> {
  const path = join(folder, name)
  if (name.endsWith('.parquet')) {
    return parquetRows(path)
  }
  return readFile(path).catch((cause) => {
    throw invalid(`${path} cannot be read. Check the export.`, { cause })
  })
}

async function* parquetRows(path: string): AsyncGenerator<ArrowTable> {
  const { readParquet } = await import('../../../engine/parquet/index.ts')
  try {
    yield* readParquet(path)
  } catch (cause) {
    if (!(cause instanceof CatalogError)) throw cause
    throw new CatalogError(cause.code, `${path}: ${cause.message}`, { cause })
  }
}
