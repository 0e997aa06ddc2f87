import { getEventListeners } from 'node:events'
import { expect, it, onTestFinished, vi } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { eventStreamType, eventText } from '../../src/protocol/events.ts'

it('attempts to connect leave no listeners behind', async () => {
  const any = vi.spyOn(AbortSignal, 'any')
  onTestFinished(() => void any.mockRestore())
  let attempts = 0
  const catalog = connect('http://catalog.test', {
    fetch: async () => {
      attempts++
      if (attempts === 1) throw new TypeError('fetch failed')
      if (attempts < 4) return new Response('{}', { status: 503 })
      const body = new ReadableStream({
        start: (stream) => stream.enqueue(Buffer.from(eventText('token', 'first', { token: 'first' }))),
      })
      return new Response(body, { headers: { 'content-type': eventStreamType } })
    },
  })
  const changes = catalog.watch()
  expect(await changes.token()).toBe('first')
  expect(attempts).toBe(4)
  // That of the connection.
  expect(getEventListeners(any.mock.results[0]!.value, 'abort')).toHaveLength(1)
  await changes.return()
  await catalog.close()
})
