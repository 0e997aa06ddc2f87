import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fakeCatalog } from '../../src/testing/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { limitEach } from '../support/time-limit.ts'
import { type IcebergRequests, schema, servedFake, snapshotUpdates } from './rest.ts'

/*
 * Random changes of namespaces, tables and views with idempotency keys, some of which come again, at once, with another body,
 * or to another server of the catalog. The oracle remembers the first answer to each key.
 */

limitEach(60)

interface Asked {
  readonly method: 'POST' | 'DELETE'
  readonly path: string
  readonly body?: unknown
}

const name = fc.constantFrom('a', 'b')
const space = fc.constantFrom('one', 'two')

const requests: fc.Arbitrary<Asked> = fc.oneof(
  space.map(
    (namespace) => ({ method: 'POST', path: 'namespaces', body: { namespace: [namespace] } }) as const,
  ),
  space.map((namespace) => ({ method: 'DELETE', path: `namespaces/${namespace}` }) as const),
  fc.tuple(space, fc.nat(2)).map(
    ([namespace, value]) =>
      ({
        method: 'POST',
        path: `namespaces/${namespace}/properties`,
        body: { updates: { tier: `${value}` }, removals: ['none'] },
      }) as const,
  ),
  fc
    .tuple(space, name)
    .map(
      ([namespace, table]) =>
        ({ method: 'POST', path: `namespaces/${namespace}/tables`, body: { name: table, schema } }) as const,
    ),
  fc.tuple(space, name, fc.integer({ min: 1, max: 4 })).map(
    ([namespace, table, snapshot]) =>
      ({
        method: 'POST',
        path: `namespaces/${namespace}/tables/${table}`,
        body: { requirements: [], updates: snapshotUpdates(snapshot) },
      }) as const,
  ),
  fc
    .tuple(space, name)
    .map(
      ([namespace, table]) =>
        ({ method: 'DELETE', path: `namespaces/${namespace}/tables/${table}` }) as const,
    ),
  fc.tuple(space, name, name).map(
    ([namespace, from, to]) =>
      ({
        method: 'POST',
        path: 'tables/rename',
        body: {
          source: { namespace: [namespace], name: from },
          destination: { namespace: [namespace], name: to },
        },
      }) as const,
  ),
)

const steps = fc.array(
  fc.record({
    asked: requests,
    key: fc.integer({ min: 0, max: 11 }),
    /** Sends what the key was first used for, if there is such a request. */
    again: fc.boolean(),
    times: fc.constantFrom(1, 1, 2),
    server: fc.nat(1),
  }),
  { minLength: 5, maxLength: 30 },
)

const keyOf = (number: number, round: number) =>
  `017f22e2-79b0-7cc3-98c4-${round.toString(16).padStart(6, '0')}${number.toString(16).padStart(6, '0')}`

/** Of an answer, what an equivalent one has, too: metadata by its place. */
const essence = ({ status, body }: { status: number; body: Record<string, unknown> }) => {
  const { metadata, ...rest } = body ?? {}
  return JSON.stringify([status, rest, (metadata as Record<string, unknown> | undefined)?.['table-uuid']])
}

test('a change with a key is made once, by any server, and another one with the key is refused', async () => {
  let round = 0
  const seen = { again: 0, reused: 0, refusals: 0, made: 0 }
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      round++
      await using fake = await fakeCatalog({ icebergFolder: await temporaryDirectory() })
      await using first = await servedFake({ seed: undefined, catalog: fake })
      await using second = await servedFake({ seed: undefined, catalog: fake })
      const servers: IcebergRequests[] = [first.rest, second.rest]
      const state = async () => {
        const { tables } = await fake.listAllTables({})
        const versions = tables.map(async (table) => [
          table,
          (await fake.listTableVersions({ id: table.split('$') })).versions.length,
        ])
        const { namespaces } = await fake.listNamespaces({ id: [] })
        const properties = namespaces.map(
          async (id) => (await fake.describeNamespace({ id: [id] })).properties,
        )
        return JSON.stringify([await Promise.all(versions), namespaces, await Promise.all(properties)])
      }
      const known = new Map<number, { request: string; asked: Asked; answer: string }>()
      for (const { asked: drawn, key, again, times, server } of history) {
        const before = known.get(key)
        const asked = again && before ? before.asked : drawn
        const headers = { 'idempotency-key': keyOf(key, round) }
        const was = await state()
        const answers = await Promise.all(
          Array.from({ length: times }, (_, i) =>
            servers[(server + i) % 2]!.send(asked.method, asked.path, asked.body, headers),
          ),
        )
        const found = answers.map(essence)
        const request = JSON.stringify(asked)
        if (before === undefined) {
          expect(new Set(found).size).toBe(1)
          const { status } = answers[0]!
          expect([200, 204, 404, 409, 422]).toContain(status)
          if (status >= 400) {
            seen.refusals++
            expect(await state()).toBe(was)
          } else seen.made++
          known.set(key, { request, asked, answer: found[0]! })
        } else if (before.request === request) {
          seen.again++
          expect(found).toEqual(answers.map(() => before.answer))
          expect(await state()).toBe(was)
        } else {
          seen.reused++
          for (const { status, body } of answers)
            expect([status, body.error.type]).toEqual([422, 'UnprocessableEntityException'])
          expect(await state()).toBe(was)
        }
      }
    }),
    { numRuns: 10 * Number(process.env.HISTORY_RUNS ?? 1) },
  )
  for (const [what, count] of Object.entries(seen)) expect([what, count > 3]).toEqual([what, true])
})
