import { CatalogError, unsupported } from '../../base/errors.ts'
import { noIndex } from '../../base/model/missing-index.ts'
import type { LancePackage, NativeIndexConfig, NativeTable } from './native.ts'

/** An index that Lance is to make. */
export interface LanceIndex {
  readonly column: string
  /** As the protocol names it, such as `IVF_PQ` or `FTS`. */
  readonly type: string
  readonly name?: string | undefined
  /** Whether it may take the place of one of the same name. */
  readonly replace: boolean
  /** By their names in the protocol. */
  readonly parameters: Readonly<Record<string, unknown>>
}

/** An index of a version. */
export interface LanceIndexFound {
  readonly name: string
  readonly uuid: string
  readonly columns: readonly string[]
  readonly type: string
  readonly indexedRows: number
  readonly unindexedRows: number
  readonly bytes: number
  /** How many files it has; of an index of Lance, how many segments. */
  readonly files: number
  /** In milliseconds since the epoch. Lance may not tell. */
  readonly createdAt: number | undefined
  readonly details: unknown
  readonly distanceType: string | undefined
  /** The version of its files, and the exact type of what describes it, where Lance made it. */
  readonly formatVersion?: number | undefined
  readonly typeUrl?: string | undefined
}

/** The parameters of indexes of vectors, by their names in the protocol and in the package. */
const vectorParameters = {
  distance_type: 'distanceType',
  num_partitions: 'numPartitions',
  num_sub_vectors: 'numSubVectors',
  num_bits: 'numBits',
  sample_rate: 'sampleRate',
  max_iterations: 'maxIterations',
  m: 'm',
  ef_construction: 'efConstruction',
} as const

/** The same for indexes of words. */
const textParameters = {
  with_position: 'withPosition',
  base_tokenizer: 'baseTokenizer',
  language: 'language',
  max_token_length: 'maxTokenLength',
  lower_case: 'lowercase',
  stem: 'stem',
  remove_stop_words: 'removeStopWords',
  custom_stop_words: 'customStopWords',
  ascii_folding: 'asciiFolding',
  min_ngram_length: 'ngramMinLength',
  max_ngram_length: 'ngramMaxLength',
  prefix_only: 'prefixOnly',
  block_size: 'blockSize',
} as const

type Makers = LancePackage['Index']

/** How the package makes an index of each type. */
const makers: Readonly<
  Record<string, readonly [make: keyof Makers, parameters: Readonly<Record<string, string>>]>
> = {
  BTREE: ['btree', {}],
  BITMAP: ['bitmap', {}],
  LABEL_LIST: ['labelList', {}],
  FM: ['fm', {}],
  FTS: ['fts', textParameters],
  IVF_FLAT: ['ivfFlat', vectorParameters],
  IVF_PQ: ['ivfPq', vectorParameters],
  IVF_RQ: ['ivfRq', vectorParameters],
  IVF_HNSW_PQ: ['hnswPq', vectorParameters],
  IVF_HNSW_SQ: ['hnswSq', vectorParameters],
}

/** Makes an index. Lance reads the rows for it, and commits it as a version. */
export async function createLanceIndex(
  lance: LancePackage,
  table: NativeTable,
  { column, type, name, replace, parameters }: LanceIndex,
): Promise<void> {
  const [make, names] = makers[type] ?? []
  if (make === undefined || typeof lance.Index[make] !== 'function') {
    throw unsupported(
      `The package of Lance for Node makes no index of type ${type}.`,
      `Use one of ${Object.keys(makers).join(', ')}.`,
    )
  }
  const given = Object.entries(parameters).flatMap(([field, value]) => {
    const known = names![field]
    return known === undefined || value == null ? [] : [[known, value] as const]
  })
  const index = lance.Index[make](Object.fromEntries(given)).inner
  // Without a name, Lance takes one that is free, or finds that such an index is there.
  if (name !== undefined && !replace && (await table.listIndices()).some((one) => one.name === name)) {
    throw new CatalogError(
      'TableIndexAlreadyExists',
      `The index ${JSON.stringify(name)} already exists. Choose another name, or replace it.`,
    )
  }
  await table.createIndex(index, column, replace, undefined, name, true)
}

/** Drops an index. Throws `TableIndexNotFound`. */
export async function dropLanceIndex(table: NativeTable, name: string): Promise<void> {
  await requireIndex(table, name)
  await table.dropIndex(name)
}

/** Reads an index into memory. Throws `TableIndexNotFound`. */
export async function prewarmLanceIndex(table: NativeTable, name: string): Promise<void> {
  await requireIndex(table, name)
  await table.prewarmIndex(name)
}

async function requireIndex(table: NativeTable, name: string): Promise<void> {
  const all = await table.listIndices()
  if (all.some((index) => index.name === name)) return
  throw noIndex(
    name,
    all.map((index) => index.name),
  )
}

/** The indexes of a version, by name. */
export async function lanceIndexes(table: NativeTable): Promise<LanceIndexFound[]> {
  const found = await table.listIndices()
  const sorted = [...found].sort((a, b) => (a.name < b.name ? -1 : 1))
  return Promise.all(sorted.map((index) => described(table, index)))
}

async function described(table: NativeTable, index: NativeIndexConfig): Promise<LanceIndexFound> {
  const { name, columns, indexUuid, createdAt, indexDetails } = index
  const type = typeNamed(index.indexType)
  // Only an index of vectors has one, and finding it out reads the index.
  const stats = type.startsWith('IVF') ? await table.indexStats(name) : undefined
  return {
    name,
    uuid: indexUuid ?? '',
    columns,
    type,
    indexedRows: index.numIndexedRows ?? 0,
    unindexedRows: index.numUnindexedRows ?? 0,
    bytes: index.sizeBytes ?? 0,
    files: index.numSegments ?? stats?.numIndices ?? 1,
    createdAt: createdAt?.getTime(),
    details: indexDetails ?? {},
    distanceType: stats?.distanceType,
    formatVersion: index.indexVersion,
    typeUrl: index.typeUrl,
  }
}

/** The name of a type in the protocol: the package says `IvfHnswPq`, `BTree` and `LabelList`. */
function typeNamed(given: string): string {
  if (given.toUpperCase() === given) return given
  return given
    .replace(/^BTree$/, 'Btree')
    .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toUpperCase()
}
