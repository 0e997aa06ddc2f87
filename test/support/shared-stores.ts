import type { Store } from '../../src/base/store/store.ts'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { freshFolder } from './catalogs.ts'
import { missingPostgres, sharedServer } from './postgres.ts'

/** Stores that several processes can share. `begin` creates an empty one and returns a function that opens it. */
export const sharedStores: readonly {
  readonly place: string
  /** Why this store is not available on this machine. */
  readonly missing?: string | undefined
  begin(): Promise<() => Promise<Store>>
}[] = [
  {
    place: 'a directory',
    async begin() {
      const folder = await freshFolder()
      return () => openLmdbStore(folder)
    },
  },
  {
    place: 'PostgreSQL',
    missing: missingPostgres,
    async begin() {
      const url = await (await sharedServer()).freshUrl()
      return () => openPostgresStore(url)
    },
  },
]
