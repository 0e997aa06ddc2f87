import { expect } from 'vitest'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { CatalogError } from '../../../src/tabularium/index.ts'

/** The refusal of a promise, which must be a sentence of facts that ends in the next step. */
export async function refusal(promise: Promise<unknown>): Promise<CatalogError> {
  const error = await promise.then(
    () => expect.fail('it was not refused'),
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(CatalogError)
  expect((error as Error).message).toMatch(/\.$/)
  return error as CatalogError
}

/** Why a store is not opened. */
export const opened = (url: string): Promise<CatalogError> => refusal(openPostgresStore(url))
