import { expect, test, vi } from 'vitest'
import type { AdoptOptions } from '../../src/tabularium/index.ts'
import { run } from './run.ts'

/* What `migrate` says when it is interrupted between two files. A real copy gives no moment to choose. */

const stop = vi.hoisted(() => ({ current: new AbortController(), copied: 0 }))

vi.mock('../../src/stores/postgres/index.ts', () => ({ migratePostgres: async () => ({ from: 2, to: 2 }) }))
vi.mock('../../src/tabularium/index.ts', async (original) => ({
  ...(await original<object>()),
  adoptContent: async (_location: string, _url: string, { onProgress, signal }: AdoptOptions) => {
    onProgress?.({
      tables: 1,
      objects: 2,
      copied: stop.copied,
      bytes: 1,
      content: 'file:///rows',
      elsewhere: 0,
    })
    stop.current.abort(new Error('interrupted'))
    signal?.throwIfAborted()
  },
}))

test.each([0, 1])('migrate says how to go on once %s files were copied', async (copied) => {
  Object.assign(stop, { current: new AbortController(), copied })
  const words = ['migrate', 'postgres://127.0.0.1/tables', '--adopt-content', 'file:///rows']
  const { code, out, err } = await run(words, { signal: stop.current.signal })
  const told = 'What was copied stays. Run it again: it copies what is not there yet.\n'
  expect({ code, out, err }).toEqual({
    code: 130,
    out: '',
    err: `${copied > 0 ? told : ''}tabularium: interrupted\n`,
  })
})
