import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { serve } from '../../src/server/index.ts'
import { openCatalog, type ServedCatalog } from '../../src/tabularium/index.ts'
import { withoutHeaderEntries } from '../client/over-http.ts'
import type { Call } from '../histories/linearize.ts'
import { call } from '../histories/run-history.ts'
import { runTransaction } from '../histories/run-transactions.ts'
import type { Asked } from './linear-run.ts'

/*
 * A process of histories. Opens a catalog and runs the calls from its input in sequence. Prints the start and the end
 * of each call, by the machine's monotonic clock.
 */

/** The input lines of the process. */
export type Order =
  | { readonly open: string; readonly served: boolean }
  | { readonly run: readonly Asked[] }
  | { readonly close: true }

let catalog: ServedCatalog | undefined
/** Reopens the catalog unless it is served. */
let reopen: (() => Promise<void>) | undefined
let stopServing = async () => {}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as Order
  if ('open' in order) {
    const local = await openCatalog(order.open)
    catalog = local
    reopen = async () => {
      await catalog!.close()
      catalog = await openCatalog(order.open)
    }
    if (order.served) {
      reopen = undefined
      // This process calls its own server like any client.
      const server = await serve(local, { port: 0, auth: false, limits: { eventLoopDelay: 0 } })
      // A pause of the machine must not look like a call with an unknown end.
      const waiting = { retries: 0, timeout: 3_600_000 }
      const remote = await openCatalog(server.url as `http://${string}`, waiting)
      catalog = remote
      stopServing = async () => {
        await server.close()
        await local.close()
      }
    }
    say('opened')
  } else if ('run' in order) {
    const told: Call[] = []
    for (const command of order.run) {
      if (Math.random() < 0.5) await reopen?.()
      const start = clock()
      if ('calls' in command) {
        const outcomes = await runTransaction(catalog!, command)
        told.push({ transaction: command, outcomes, start, end: clock() })
        continue
      }
      const outcome = await call(catalog!, command)
      const end = clock()
      const plain =
        'answer' in outcome ? { ...outcome, answer: withoutHeaderEntries(outcome.answer) } : outcome
      told.push({ command, outcome: plain, start, end })
    }
    say(JSON.stringify(told))
  } else {
    await catalog!.close()
    await stopServing()
    stopServing = async () => {}
    say('closed')
  }
}

/** Nanoseconds since the machine started: the same clock in all processes. */
function clock(): number {
  return Number(process.hrtime.bigint())
}

function say(text: string): void {
  writeSync(1, `${text}\n`)
}
