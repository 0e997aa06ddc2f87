import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { Child } from './child-process.ts'

const tables = ['hot', 'warm']

/** The most runs of a function before it fails. It needs about five. */
const attempts = 12

/** How long a run waits for others to change what it read, in milliseconds. A turn lasts longer. */
const patience = 1_000
const pause = 20
const token = 'a-token-of-the-test'

/**
 * Runs a function that reads two tables, waits for others to insert into them, and then changes one of them. So each
 * run has a conflict, unless others wait for it. With `overHttp` it runs in a client of a server of the catalog.
 */
export async function runSlowly(
  location: string,
  {
    processes,
    inserters,
    overHttp = false,
  }: { readonly processes: number; readonly inserters: number; readonly overHttp?: boolean },
): Promise<void> {
  await using catalog = await openCatalog(location as 'memory:')
  await using server = overHttp
    ? await serve(catalog, { port: 0, auth: { tokens: [token] }, limits: { eventLoopDelay: 0 } })
    : undefined
  await using remote = server && (await openCatalog(server.url as 'http://host', { token }))
  for (const name of tables) await catalog.createTable({ id: [name], data: [{ x: 0 }] })
  const countsOf = (of: Pick<typeof catalog, 'countTableRows'>) =>
    Promise.all(tables.map(async (name) => (await of.countTableRows({ id: [name] })).count))
  const children = Array.from(
    { length: processes },
    () => new Child('test/processes/inserts-child.ts', [location, ...tables]),
  )
  onTestFinished(() => {
    for (const child of children) child.stop()
  })
  await Promise.all(children.map((child) => child.wrote(4)))
  let isOver = false
  const insert = async () => {
    for (let n = 0; !isOver; n++) {
      await catalog.insertIntoTable({ id: [tables[n % tables.length]!], data: [{ x: n }] })
      // Without a rest, it would keep a processor busy.
      await setTimeout(10)
    }
  }
  const inserting = Array.from({ length: inserters }, insert)
  try {
    for (let n = 0; n < 2; n++) {
      await (remote ?? catalog).transaction(
        async (tx) => {
          const before = await countsOf(tx)
          for (let waited = 0; waited < patience; waited += pause) {
            await setTimeout(pause)
            if (String(await countsOf(catalog)) !== String(before)) break
          }
          await tx.insertIntoTable({ id: ['hot'], data: [{ x: -before[0]! - before[1]! }] })
        },
        { attempts },
      )
    }
  } finally {
    isOver = true
    await Promise.all(inserting)
  }
  await Promise.all(children.map((child) => child.kill()))
  expect((await catalog.countTableRows({ id: ['hot'], predicate: 'x < 0' })).count).toBe(2)
}
