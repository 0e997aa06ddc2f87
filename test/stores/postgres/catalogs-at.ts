import { memoryContent } from '../../../src/contents/memory/index.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'

/** Two catalogs over one database, as two servers open them, until the test ends. */
export async function catalogsAt(url: string): Promise<readonly [LocalCatalog, LocalCatalog]> {
  const content = memoryContent()
  const open = async () =>
    closedAfterwards(
      await openCatalog({ store: await openPostgresStore(url), content, root: 'memory://here' }),
    )
  return [await open(), await open()]
}
