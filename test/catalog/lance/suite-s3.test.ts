import { rm } from 'node:fs/promises'
import { afterAll } from 'vitest'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { s3Place } from '../../contents/s3/server.ts'
import { temporaryDirectory } from '../../support/folders.ts'
import { limitEach } from '../../support/time-limit.ts'
import { lanceRules } from './rules.ts'

limitEach(120)

const place = await s3Place()
if (typeof place === 'string') console.warn(`The rules for tables of Lance in S3 are left out: ${place}`)

let opened: LocalCatalog | undefined
let folder: string | undefined
afterAll(async () => {
  await opened?.close()
  if (folder !== undefined) await rm(folder, { recursive: true })
})

if (typeof place !== 'string') {
  lanceRules('a catalog with tables of Lance in S3', async () => {
    folder = await temporaryDirectory()
    opened = await openCatalog(`${folder}/catalog`, {
      content: place.freshUrl(),
      format: 'lance',
      storageOptions: () => place.lanceOptions,
    })
    return opened
  })
}
