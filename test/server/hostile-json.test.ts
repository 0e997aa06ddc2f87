import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hostileJson, jsonRoutes, jsonShapes } from '../support/hostile-json.ts'
import { serveInMemory } from './support/ask.ts'

const json = { 'content-type': 'application/json' }

/** Counts the turns of the event loop while something is under way. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const counting = (async () => {
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve))
      turns++
    }
  })()
  await work
  isOver = true
  await counting
  return turns
}

it('a hostile body of any shape is answered on any route, and the server goes on', async () => {
  const { ask } = await serveInMemory({ limits: { jsonBytes: 600_000 } })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...jsonShapes),
      fc.constantFrom(...jsonRoutes),
      fc.constantFrom(8_000, 70_000, 500_000),
      async (shape, route, bytes) => {
        const { status } = await ask('POST', route, hostileJson(shape, bytes), json)
        expect([200, 400, 404, 409]).toContain(status)
      },
    ),
    { numRuns: 30 },
  )
  expect((await ask('POST', '/v1/namespace/$/list', undefined)).status).toBeLessThan(500)
})

it.each([
  ['numbers', '/v1/table/t/query', Number.POSITIVE_INFINITY],
  ['nests below the limit', '/v1/table/t/count_rows', 19_000],
  ['operations with a fault at the end', '/v1/table/batch-commit', 9_000],
])('others are heard many times while a body of %s is read', async (shape, route, mostItems) => {
  const { ask } = await serveInMemory()
  const body = hostileJson(shape, 15_000_000, mostItems)
  const turns = await turnsDuring(
    ask('POST', route, body, json).then(({ status }) => expect(status).toBeGreaterThanOrEqual(400)),
  )
  // Parsed and checked at once, it takes two or three. A faster machine needs fewer turns of a few milliseconds.
  expect(turns).toBeGreaterThan(4)
})

it('a long answer is as JSON.stringify would write it', async () => {
  const { ask, catalog } = await serveInMemory()
  const operations = Array.from({ length: 2_000 }, (_, i) => ({
    declare_table: { id: [`é${i}`], properties: { a: 'x'.repeat(5_000) } },
  }))
  const { json: answered, text } = await ask('POST', '/v1/table/batch-commit', { operations })
  const { results } = answered as { results: { declare_table: object }[] }
  expect(results).toHaveLength(2_000)
  expect(text).toBe(JSON.stringify(answered))
  expect(results[7]!.declare_table).toMatchObject(
    await catalog.describeTable({ id: ['é7'] }).then(({ location }) => ({ location })),
  )
})
