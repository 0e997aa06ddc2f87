import { type FakeOptions, fakeCatalog } from './catalog.ts'
import type { FakeCatalog, FakeServer } from './fake.ts'
import { type FakeServerOptions, fakeServer } from './server.ts'

/** A fixture for `test.extend` of vitest and Playwright. */
export type Fixture<T> = (context: object, use: (value: T) => Promise<void>) => Promise<void>

/**
 * A fixture that gives each test its own fake catalog: seeded once, forked for each test.
 *
 * ```ts
 * const test = base.extend({ catalog: catalogFixture({ seed: { prod: { flights: [{ delay: 75 }] } } }) })
 * ```
 */
export function catalogFixture(options: FakeOptions = {}): Fixture<FakeCatalog> {
  let seeded: Promise<FakeCatalog> | undefined
  // biome-ignore lint/correctness/noEmptyPattern: runners read from the pattern which fixtures it needs
  return async ({}, use) => {
    seeded ??= fakeCatalog(options)
    await using catalog = (await seeded).fork()
    await use(catalog)
  }
}

/** A fixture that gives each test its own fake server, on its own port. */
export function serverFixture(options: FakeServerOptions = {}): Fixture<FakeServer> {
  let seeded: Promise<FakeCatalog> | undefined
  // biome-ignore lint/correctness/noEmptyPattern: runners read from the pattern which fixtures it needs
  return async ({}, use) => {
    const { catalog: given, host, port, token, control, iceberg, http, ...own } = options
    seeded ??= given ? Promise.resolve(given) : fakeCatalog(own)
    const catalog = (await seeded).fork()
    await using server = await fakeServer({ catalog, host, port, token, control, iceberg, http })
    await use(server)
  }
}
