import { readdirSync } from 'node:fs'
import { link, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fileContent } from '../../src/contents/files/index.ts'
import { freshFolder } from '../support/catalogs.ts'

/** A content with some files in a folder, as another program wrote them. */
async function withFiles(...names: string[]) {
  const folder = await freshFolder()
  await mkdir(join(folder, 'from'))
  for (const name of names) await writeFile(join(folder, 'from', name), name)
  return { folder, shared: fileContent(folder).shared! }
}

const to = (folder: string, names: readonly string[]) =>
  names.map((name) => ({ from: `from/${name}`, to: `${folder}/${name}` }))

it('files get second paths, and folders for them are made', async () => {
  const { folder, shared } = await withFiles('a', 'b', 'c')
  const links = [...to('x/y', ['a', 'b']), ...to('z', ['c'])]
  expect(await shared.linkAll!(links)).toEqual(['linked', 'linked', 'linked'])
  expect(await readdir(join(folder, 'x/y'))).toEqual(['a', 'b'])
  expect(await readFile(join(folder, 'z/c'), 'utf8')).toBe('c')
  expect(await shared.link('from/a', 'x/y/a')).toBe('taken')
  expect(await shared.link('from/none', 'x/y/d')).toBe('missing')
  expect(await shared.link('nowhere/none', 'w/d')).toBe('missing')
  expect((await readdir(folder)).sort()).toEqual(['from', 'x', 'z'])
})

it('in a folder, nothing is linked after what could not be', async () => {
  const { folder, shared } = await withFiles('a', 'b', 'c', 'd')
  await mkdir(join(folder, 'x'))
  await link(join(folder, 'from/d'), join(folder, 'x/b'))
  const links = [...to('x', ['a', 'b', 'c']), ...to('y', ['none', 'c']), ...to('z', ['c'])]
  expect(await shared.linkAll!(links)).toEqual(['linked', 'taken', undefined, 'missing', undefined, 'linked'])
  expect(await readdir(join(folder, 'x'))).toEqual(['a', 'b'])
  expect(await readFile(join(folder, 'x/b'), 'utf8')).toBe('d')
  expect(await readdir(join(folder, 'y'))).toEqual([])
})

it('a link that leads out of the root is refused', async () => {
  const { folder, shared } = await withFiles('a')
  const elsewhere = await freshFolder()
  await writeFile(join(elsewhere, 'secret'), 'x')
  await symlink(elsewhere, join(folder, 'out'))
  for (const [from, target] of [
    ['out/secret', 'x/secret'],
    ['from/a', 'out/a'],
    ['from/a', 'out/deeper/a'],
  ] as const)
    await expect(shared.link(from, target)).rejects.toMatchObject({ code: 'PermissionDenied' })
  expect(await readdir(elsewhere)).toEqual(['secret'])
})

it('whoever links files is told when all of them have their second paths, and not where one has none', async () => {
  const { folder, shared } = await withFiles('a', 'b')
  const found: string[][] = []
  const told = () => found.push(readdirSync(join(folder, 'x')).sort())
  await shared.linkAll!(to('x', ['a', 'b']), told)
  expect(found).toEqual([['a', 'b']])
  await shared.linkAll!([...to('x', ['none']), ...to('y', ['a'])], told)
  await shared.linkAll!([...to('x', ['a']), ...to('z', ['b'])], told)
  expect(found).toHaveLength(1)
})
