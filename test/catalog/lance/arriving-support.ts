import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { int32, type Table, tableFromArrays, tableFromIPC } from '@uwdata/flechette'
import { filesNamedIn } from '../../../src/catalog/lance/named-files.ts'
import type { Catalog } from '../../../src/tabularium/index.ts'

/* Rows that arrive for a table of Lance: some hundred thousand each time, since Lance takes a million of them at once. */

/** Rows with these numbers. */
export const batchOf = (n: ArrayLike<number>): Table =>
  tableFromArrays({ n: Int32Array.from(n) }, { types: { n: int32() } })

/** So many numbers from one on. */
export const numbersFrom = (first: number, count: number) =>
  Int32Array.from({ length: count }, (_, i) => first + i)

/** The column `n` of the latest or another version, in its order. */
export async function numbersOf(
  catalog: Pick<Catalog, 'queryTable'>,
  id: readonly string[],
  more: { readonly version?: number; readonly branch?: string } = {},
): Promise<Int32Array> {
  const { version, branch } = more
  const { data } = await catalog.queryTable({ id: [...id], columns: ['n'], version, branch })
  return Int32Array.from(tableFromIPC(data).getChild('n')!.toArray())
}

/** The files in the folder of a table, by their paths, and those data files that its manifests name. */
export async function filesAt(location: string) {
  const folder = fileURLToPath(location)
  const all = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((found) => found.isFile())
    .map((found) => join(found.parentPath, found.name).slice(folder.length + 1))
  const named = new Set<string>()
  for (const path of all.filter((path) => path.endsWith('.manifest'))) {
    const branch = path.slice(0, path.indexOf('_versions/'))
    const { files, bases } = filesNamedIn(await readFile(join(folder, path)))
    for (const { path, base } of files)
      named.add(base === undefined ? branch + path : `${bases.get(base)}/${path}`)
  }
  return {
    arriving: all.filter((path) => path.startsWith('_staged/')),
    /** Data files that no version names. */
    lost: all.filter((path) => path.includes('data/') && ![...named].some((name) => name.endsWith(path))),
  }
}
