/*
 * Parquet files: read as Arrow tables, and written from them. Needs no catalog.
 */

export { type ParquetReadOptions, readParquet } from './read/read.ts'
export type { ParquetBytes, ParquetSource } from './read/source.ts'
export { type ParquetWriteOptions, writeParquet } from './write/write.ts'
