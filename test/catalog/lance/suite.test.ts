import { rm } from 'node:fs/promises'
import { afterAll } from 'vitest'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { temporaryDirectory } from '../../support/folders.ts'
import { howLanceRuns } from '../../support/lance-package.ts'
import { lanceRules } from './rules.ts'

let opened: LocalCatalog | undefined
let folder: string | undefined
afterAll(async () => {
  await opened?.close()
  if (folder !== undefined) await rm(folder, { recursive: true })
})

lanceRules('a catalog with tables of Lance', async () => {
  folder = await temporaryDirectory()
  opened = await openCatalog(`${folder}/catalog`, { format: 'lance', ...howLanceRuns })
  return opened
})
