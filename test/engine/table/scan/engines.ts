import { rm } from 'node:fs/promises'
import { afterAll } from 'vitest'
import { fileContent } from '../../../../src/contents/files/index.ts'
import { tableEngine } from '../../../../src/engine/table/index.ts'
import { temporaryDirectory } from '../../../support/folders.ts'

type Options = Omit<Parameters<typeof tableEngine>[0], 'content' | 'threads'>

/** Engines over one folder for the tests of a file: one whose threads do all that they can, and one without threads. */
export async function enginesWith(options: Options) {
  const folder = await temporaryDirectory()
  const engine = (threads: number) =>
    tableEngine({ content: fileContent(folder), threads, threadedRows: 0, threadedAfter: 0, ...options })
  const threaded = engine(2)
  afterAll(async () => {
    await threaded.close()
    await rm(folder, { recursive: true })
  })
  return { folder, engine, threaded, single: engine(0) }
}
