import { rm } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { principalKey } from '../../src/catalog/index.ts'
import { CatalogError, type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { overHttp } from '../client/over-http.ts'
import { temporaryDirectory } from '../support/folders.ts'

/*
 * Requests with idempotency keys, beside an oracle. Some come again, some have a key of another, some come at the same
 * time, and between them days pass and the catalog is opened anew.
 */

const factor = Number(process.env.HISTORY_RUNS ?? 1)
const hour = 3_600_000

interface Asked {
  readonly caller: string
  readonly key: string | undefined
  readonly operation: 'insertIntoTable' | 'createNamespace' | 'dropNamespace' | 'updateTableProperties'
  readonly request: object
}

type Step = { readonly requests: readonly Asked[] } | { readonly hours: number } | 'reopen'

type Outcome = { readonly answer: unknown } | { readonly code: string; readonly isReuse: boolean }

/** What the oracle knows: the rows by their value, names of namespaces, a property, and the answers by caller and key. */
interface World {
  readonly rows: readonly number[]
  readonly names: readonly string[]
  readonly owner: string | undefined
  readonly kept: ReadonlyMap<string, { readonly asked: Asked; readonly answer: unknown; readonly at: number }>
}

const request = fc.oneof(
  fc.record({
    operation: fc.constant('insertIntoTable' as const),
    request: fc.nat(2).map((a) => ({ id: ['t'], data: [{ a }] })),
  }),
  fc.record({
    operation: fc.constantFrom('createNamespace' as const, 'dropNamespace' as const),
    request: fc.constantFrom('x', 'y').map((name) => ({ id: [name] })),
  }),
  fc.record({
    operation: fc.constant('updateTableProperties' as const),
    request: fc.constantFrom('ada', 'eve').map((owner) => ({ id: ['t'], updates: { owner } })),
  }),
)
const asked: fc.Arbitrary<Asked> = fc
  .record({
    caller: fc.constantFrom('ada', 'ada', 'eve'),
    key: fc.constantFrom('k', 'k', 'l', undefined),
    what: request,
  })
  .map(({ what, ...rest }) => ({ ...rest, ...what }))
/** The same request several times, or several requests, at the same time. */
const group = fc.oneof(
  fc.array(asked, { minLength: 1, maxLength: 3, size: 'max' }),
  fc
    .tuple(asked, fc.integer({ min: 1, max: 4 }))
    .map(([one, times]) => Array.from({ length: times }, () => one)),
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: group.map((requests) => ({ requests })) },
  { weight: 1, arbitrary: fc.constantFrom(1, 10, 23, 25).map((hours) => ({ hours })) },
  { weight: 1, arbitrary: fc.constant('reopen' as const) },
)

/** What comes of a request, if it is the next one; undefined if the oracle does not agree with the outcome. */
function after(world: World, one: Asked, outcome: Outcome, now: number): World | undefined {
  const name = `${one.caller}/${one.key}`
  const found = one.key === undefined ? undefined : world.kept.get(name)
  if (found !== undefined && now - found.at < 24 * hour) {
    const isSame =
      found.asked.operation === one.operation && isDeepStrictEqual(found.asked.request, one.request)
    const isRight = isSame
      ? 'answer' in outcome && isDeepStrictEqual(outcome.answer, found.answer)
      : 'code' in outcome && outcome.isReuse
    return isRight ? world : undefined
  }
  const made = changed(world, one)
  if (typeof made === 'string') return 'code' in outcome && outcome.code === made ? world : undefined
  if (!('answer' in outcome)) return undefined
  if (one.key === undefined) return made
  return { ...made, kept: new Map([...world.kept, [name, { asked: one, answer: outcome.answer, at: now }]]) }
}

function changed(world: World, { operation, request }: Asked): World | string {
  const { id, data, updates } = request as { id: string[]; data: { a: number }[]; updates: { owner: string } }
  const isThere = world.names.includes(id[0]!)
  switch (operation) {
    case 'insertIntoTable':
      return { ...world, rows: [...world.rows, data[0]!.a].sort() }
    case 'updateTableProperties':
      return { ...world, owner: updates.owner }
    case 'createNamespace':
      return isThere ? 'NamespaceAlreadyExists' : { ...world, names: [...world.names, id[0]!].sort() }
    case 'dropNamespace':
      return isThere ? { ...world, names: world.names.filter((name) => name !== id[0]) } : 'NamespaceNotFound'
  }
}

function orders(count: number): number[][] {
  if (count === 0) return [[]]
  return orders(count - 1).flatMap((order) =>
    Array.from({ length: count }, (_, at) => order.toSpliced(at, 0, count - 1)),
  )
}

async function ask(catalog: LocalCatalog, { caller, key, operation, request }: Asked): Promise<Outcome> {
  try {
    const given = { ...request, context: { [principalKey]: caller } } as never
    return { answer: await catalog[operation](given, { idempotencyKey: key }) }
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    return { code: error.code, isReuse: /belongs to another request/.test(error.message) }
  }
}

async function stateOf(catalog: LocalCatalog): Promise<Omit<World, 'kept'>> {
  const rows: number[] = []
  for await (const row of catalog.rows({ id: ['t'], filter: 'a >= 0' })) rows.push(Number(row.a))
  const { properties } = await catalog.describeTable({ id: ['t'] })
  const { namespaces } = await catalog.listNamespaces({ id: [] })
  return { rows: rows.sort(), names: namespaces, owner: properties.owner }
}

async function run(store: 'memory' | 'lmdb' | 'http', steps: readonly Step[]): Promise<void> {
  let now = Date.UTC(2026, 0, 1)
  const directory = await temporaryDirectory()
  const options = { now: () => now }
  const open = async () => {
    if (store !== 'http') return openCatalog(store === 'memory' ? 'memory:' : directory, options)
    return overHttp(await openCatalog('memory:', options))
  }
  let catalog = await open()
  try {
    await catalog.createTable({ id: ['t'], data: [{ a: 0 }] })
    let worlds: World[] = [{ rows: [0], names: [], owner: undefined, kept: new Map() }]
    for (const one of steps) {
      if (one === 'reopen') {
        // Others live in this process alone.
        if (store !== 'lmdb') continue
        await catalog.close()
        catalog = await open()
        continue
      }
      if ('hours' in one) {
        now += one.hours * hour
        continue
      }
      const { requests } = one
      const outcomes = await Promise.all(requests.map((asked) => ask(catalog, asked)))
      const state = await stateOf(catalog)
      const next = worlds.flatMap((world) =>
        orders(requests.length).flatMap((order) => {
          let at: World | undefined = world
          for (const i of order) at = at && after(at, requests[i]!, outcomes[i]!, now)
          return at === undefined ? [] : [at]
        }),
      )
      worlds = next.filter(({ kept: _, ...rest }) => isDeepStrictEqual(rest, state)).slice(0, 8)
      expect(worlds.length, JSON.stringify({ requests, outcomes, state })).toBeGreaterThan(0)
    }
    const { findings } = await catalog.verify()
    expect(findings).toEqual([])
  } finally {
    await catalog.close()
    await rm(directory, { recursive: true, force: true })
  }
}

test.each([
  ['memory', 40],
  ['lmdb', 12],
  ['http', 12],
] as const)(
  'requests with idempotency keys on %s are done once, and answered the same',
  {
    timeout: 60_000 * factor,
  },
  async (store, runs) => {
    const steps = fc.array(step, { maxLength: 12, size: 'max' })
    await fc.assert(
      // Over HTTP the server knows one caller.
      fc.asyncProperty(steps, (steps) =>
        run(
          store,
          store !== 'http'
            ? steps
            : steps.map((one) =>
                typeof one === 'object' && 'requests' in one
                  ? { requests: one.requests.map((asked) => ({ ...asked, caller: 'ada' })) }
                  : one,
              ),
        ),
      ),
      { numRuns: runs * factor },
    )
  },
)
