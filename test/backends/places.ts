import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLmdbStore } from '../../src/backends/lmdb.ts'
import { memoryStore } from '../../src/backends/memory.ts'
import type { Place } from '../store/store-suite.ts'

export async function memoryPlace(): Promise<Place> {
  return { open: async () => memoryStore() }
}

export async function lmdbPlace(): Promise<Place> {
  const directory = await temporaryDirectory()
  return {
    open: () => openLmdbStore(directory),
    dispose: () => rm(directory, { recursive: true }),
  }
}

export function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'tabularium-'))
}
