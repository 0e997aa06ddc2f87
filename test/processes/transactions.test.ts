import { tableFromIPC } from '@uwdata/flechette'
import { expect, test } from 'vitest'
import { openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { Child } from './child-process.ts'

const factor = Number(process.env.HISTORY_RUNS ?? 1)
const processes = 3
const times = 8 * factor

test('transactions of several processes build on each other, and inserts into the same tables do not conflict', {
  timeout: 20_000 * factor,
}, async () => {
  const directory = await freshFolder()
  await using catalog = await openCatalog(directory)
  const schema = { fields: [{ name: 'n', type: { type: 'int32' }, nullable: false }] }
  for (const name of ['numbers', 'left', 'right']) {
    await catalog.createTable({ id: [name], data: [], schema })
  }
  const children = Array.from(
    { length: processes },
    (_, own) => new Child('test/processes/transactions-child.ts', [directory, String(own), String(times)]),
  )
  await Promise.all(children.map((child) => child.ended()))
  const numbersIn = async (name: string) => {
    const { data } = await catalog.queryTable({ id: [name] })
    return (tableFromIPC(data).toArray() as { n: number }[]).map(({ n }) => n)
  }
  // Each transaction counted all previous ones.
  expect(await numbersIn('numbers')).toEqual(Array.from({ length: processes * times }, (_, n) => n))
  const left = await numbersIn('left')
  expect(await numbersIn('right')).toEqual(left)
  const all = Array.from({ length: processes * times }, (_, i) => Math.floor(i / times) * 1_000 + (i % times))
  expect(left.toSorted((a, b) => a - b)).toEqual(all)
  expect(children.map(({ lines }) => lines)).toEqual(children.map(() => [String(times)]))
  expect((await catalog.verify()).ok).toBe(true)
})
