import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { watchEventLoop } from '../../../src/server/limits/admission-control.ts'
import { expectProblem, serveInMemory } from '../support/ask.ts'

/** Keeps the event loop from turning. */
function block(millis: number): void {
  const end = performance.now() + millis
  while (performance.now() < end);
}

it('a loop that stands still is late, and is not any more a second after', async () => {
  const watch = watchEventLoop(300)
  onTestFinished(watch.close)
  expect(watch.isLate).toBe(false)
  block(1_500)
  await expect.poll(() => watch.isLate, { interval: 10 }).toBe(true)
  await expect.poll(() => watch.isLate, { interval: 10 }).toBe(false)
})

it('0 watches nothing', async () => {
  const watch = watchEventLoop(0)
  block(1_200)
  // A watch would look meanwhile.
  await sleep(20)
  expect(watch.isLate).toBe(false)
})

it('requests are told to slow down while the loop is late, but for those that ask how the server is', async () => {
  const { ask } = await serveInMemory({ limits: { eventLoopDelay: 300 } })
  const path = '/v1/namespace/$/describe'
  // The start of a busy machine may be late itself.
  await expect.poll(async () => (await ask('POST', path, {})).status).toBe(200)
  block(1_500)
  await expect.poll(async () => (await ask('POST', path, {})).status, { interval: 5 }).toBe(503)
  expect((await ask('GET', '/healthz')).status).toBe(200)
  const refused = await ask('POST', path, {})
  if (refused.status !== 200) expectProblem(refused, 503, 21, path, /behind with its work/)
  await expect.poll(async () => (await ask('POST', path, {})).status).toBe(200)
})
