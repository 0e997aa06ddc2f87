/** Indexes of vectors, as LanceDB names them. */
export const vectorIndexTypes = [
  'IVF_FLAT',
  'IVF_SQ',
  'IVF_PQ',
  'IVF_RQ',
  'IVF_HNSW_FLAT',
  'IVF_HNSW_SQ',
  'IVF_HNSW_PQ',
] as const

/** Indexes of single values, of lists of them, and of parts of texts. */
export const scalarIndexTypes = ['BTREE', 'BITMAP', 'LABEL_LIST', 'FM'] as const

export const indexTypes = [...scalarIndexTypes, ...vectorIndexTypes] as const

export type IndexType = (typeof indexTypes)[number]
