import { describe, onTestFinished } from 'vitest'
import { connect } from '../../../src/client/index.ts'
import type { Catalog } from '../../../src/tabularium/index.ts'
import { type FakeCatalog, type FakeOptions, fakeCatalog, fakeServer } from '../../../src/testing/index.ts'

/** A fake, and the handle through which a test calls it. */
export interface Way {
  readonly fake: FakeCatalog
  readonly catalog: Catalog
}

/** Runs the tests on a fake called directly, and on one called over HTTP by a client without retries. */
export function eachWay(tests: (open: (options?: FakeOptions) => Promise<Way>) => void): void {
  describe('in memory', () =>
    tests(async (options) => {
      const fake = await fakeCatalog(options)
      onTestFinished(() => fake.close())
      return { fake, catalog: fake }
    }))
  describe('over HTTP', () =>
    tests(async (options) => {
      const server = await fakeServer(options)
      const catalog = connect(server.url, { retries: 0 })
      onTestFinished(async () => {
        await catalog.close()
        await server.close()
      })
      return { fake: server.catalog, catalog }
    }))
}

/** The error code of a call, or its response. */
export function outcome(call: Promise<unknown>): Promise<unknown> {
  return call.then(withoutContext).catch((error) => error.code ?? String(error))
}

/** Waits until a condition holds. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

/** Over HTTP a response has headers, too. */
function withoutContext(response: unknown): unknown {
  const { context: _, ...rest } = response as { context?: unknown }
  return rest
}
