import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { openCatalog, openContent } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { fails } from '../support/refusals.ts'

test('a file in the way of the rows is named before a catalog is made', async () => {
  const folder = await freshFolder()
  const file = join(folder, 'file')
  await writeFile(file, '')
  for (const path of [file, join(file, 'rows'), join(file, 'rows', 'deep')]) {
    const content = pathToFileURL(path).href
    await fails(openCatalog(join(folder, 'catalog'), { content }), 'InvalidInput', `${file} is a file`)
  }
  expect(await readdir(folder)).toEqual(['file'])
  await openContent(pathToFileURL(join(folder, 'new', 'deep')).href)
})

test.each(['file://host/x', 'file:///a%2Fb', 'file:///a%00b'])('%s is no folder', async (url) => {
  await fails(openContent(url), 'InvalidInput', 'is not the URL of a folder. Write')
})
