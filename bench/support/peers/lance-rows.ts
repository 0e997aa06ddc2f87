import { createRequire } from 'node:module'
import type { Table as ArrowTable } from 'apache-arrow'

const require = createRequire(import.meta.url)

/** LanceDB on a directory of local tables. It is CommonJS, and brings its own Arrow. */
export const lancedb = () => require('@lancedb/lancedb') as typeof import('@lancedb/lancedb')

/** Arrow bytes as the table LanceDB takes. */
export function arrowTable(bytes: Uint8Array): ArrowTable {
  return (require('apache-arrow') as typeof import('apache-arrow')).tableFromIPC(bytes)
}
