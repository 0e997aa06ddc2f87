import { createRequire } from 'node:module'
import type { Key as LmdbKey, RootDatabase } from 'lmdb'
import { unsupported } from '../../base/errors.ts'
import type { Value } from '../../base/store/store.ts'
import { withOwnTimers } from '../../base/time.ts'

/** Loads the driver's CommonJS build: it is one file, and loads in half the time of the twenty ES modules. */
export function loadDriver(): typeof import('lmdb') {
  return withOwnTimers(() => createRequire(import.meta.url)('lmdb'))
}

/** Refuses a runtime that would exit at once, without an error, on loading the module for file locks. */
export function requireRuntime(): void {
  if (!('Deno' in globalThis)) return
  throw unsupported(
    'A catalog in a directory needs Node or Bun.',
    "In Deno, open 'memory:', the URL of a database, or that of a server (https://…).",
  )
}

/** @internal Published types would need those of the driver. */
export type Database = RootDatabase<Value, LmdbKey>
