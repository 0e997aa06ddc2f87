import { expect, it } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { limitEach } from '../../support/time-limit.ts'
import { mostWorkOfATurn } from '../../support/work-of-turns.ts'

/* A request may name thousands of columns of a table with thousands. Its work grows with their sum, not the product. */

// The coverage slows all code down.
limitEach(60)

const columns = 300
const names = 300
const id = ['wide']

const name = (i: number) => `column${i % columns}`
/** So many blocks of code for each column and name. A look at all columns for each name has more. */
const most = 150 * (columns + names)

it.each<[string, (i: number) => string]>([
  ['names', name],
  ['names in another case', (i) => name(i).toUpperCase()],
])('no turn of a query looks through all columns for each of its %s', async (_, text) => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  const row = Object.fromEntries(Array.from({ length: columns }, (_, i) => [name(i), i]))
  await catalog.createTable({ id, data: [row] })
  const column_aliases = Object.fromEntries(Array.from({ length: names }, (_, i) => [`a${i}`, text(i)]))
  const { blocks } = await mostWorkOfATurn(() => catalog.queryTable({ id, columns: { column_aliases } }))
  expect(blocks).toBeLessThan(most)
})
