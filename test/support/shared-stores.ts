import type { Store } from '../../src/base/store/store.ts'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { freshFolder } from './catalogs.ts'
import { missingPostgres, sharedServer } from './postgres.ts'

/** Where several processes share a store. `begin` makes an empty one, and answers with a function that opens it. */
export const sharedStores: readonly {
  readonly place: string
  /** Why there is none on this machine. */
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
