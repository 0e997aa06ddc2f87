import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import type { StorePlace } from '../../src/testing/suites/store/trial.ts'

export async function memoryPlace(): Promise<StorePlace> {
  return { open: async () => memoryStore() }
}

export async function lmdbPlace(): Promise<StorePlace> {
  return placeOf(await temporaryDirectory())
}

function placeOf(directory: string): StorePlace {
  return {
    open: () => openLmdbStore(directory),
    afterCrash: async () => {
      const copy = await temporaryDirectory()
      await cp(directory, copy, { recursive: true })
      return placeOf(copy)
    },
    dispose: () => rm(directory, { recursive: true }),
  }
}

/** A folder on the disk: what lies in it is written as it is for a user. */
export function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'tabularium-'))
}
