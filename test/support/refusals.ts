import { expect } from 'vitest'
import { type Catalog, CatalogError, type ErrorCode } from '../../src/tabularium/index.ts'
import { itself } from '../client/over-http.ts'
import { inspect } from './inspect.ts'

/**
 * Expects a `CatalogError` with this code and a message that contains all the parts: the subject, and the next step.
 */
export async function fails(
  attempt: Promise<unknown> | (() => Promise<unknown>),
  code: ErrorCode,
  ...parts: readonly (string | RegExp)[]
): Promise<CatalogError> {
  const error = await (typeof attempt === 'function' ? attempt() : attempt).then(
    (answer) => new Error(`it answered ${JSON.stringify(answer)} where it should have failed with ${code}`),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof CatalogError)) throw error
  expect({ code: error.code, message: error.message }).toMatchObject({ code })
  for (const part of parts) expect(error.message).toMatch(part)
  expect(error.message).toMatch(/\.$/)
  return error
}

/** Like {@link fails}. Also checks that nothing that can be listed or described has changed. */
export async function refuses(
  catalog: Catalog,
  attempt: () => Promise<unknown>,
  code: ErrorCode,
  ...parts: readonly (string | RegExp)[]
): Promise<CatalogError> {
  return (await refusesEach(catalog, [attempt], code, ...parts))[0]!
}

/** Like {@link refuses}, for several attempts in sequence. */
export async function refusesEach(
  catalog: Catalog,
  attempts: readonly (() => Promise<unknown>)[],
  code: ErrorCode,
  ...parts: readonly (string | RegExp)[]
): Promise<CatalogError[]> {
  const before = await inspect(itself(catalog))
  const errors: CatalogError[] = []
  for (const attempt of attempts) errors.push(await fails(attempt, code, ...parts))
  expect(await inspect(itself(catalog))).toEqual(before)
  return errors
}
