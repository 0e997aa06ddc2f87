import { expect, it } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { openPatiently } from '../../src/cli/serve.ts'
import { CatalogError } from '../../src/index.ts'

const away = new CatalogError('ServiceUnavailable', 'Cannot use it: the server cannot be reached.')

it('a server whose database is away at its start says so, and ends by a signal', async () => {
  const stop = new AbortController()
  let said = ''
  const io = {
    stdin: (async function* () {})(),
    stdout: { write: () => {} },
    stderr: {
      write: (text: string | Uint8Array) => {
        said += String(text)
        stop.abort()
      },
    },
    env: {},
    version: '1.2.3',
  }
  const args = ['serve', 'postgres://u:secret@127.0.0.1:1/d', '--no-auth', '--port', '0']
  expect(await main(args, io, stop.signal)).toBe(0)
  expect(said).toMatch(/^tabularium: Cannot use .* cannot be reached.* The server tries again in 0\.5 s\.\n$/)
  expect(said).not.toContain('secret')
})

it('a server goes on when its database is there, waits longer and longer, and fails for what does not pass', async () => {
  const said: string[] = []
  const io = { stderr: { write: (text: string | Uint8Array) => void said.push(String(text)) } }
  const { signal } = new AbortController()
  let attempts = 0
  const open = async () => {
    if (++attempts < 4) throw away
    return 'open'
  }
  expect(await openPatiently(open, true, signal, io, [1, 2])).toBe('open')
  expect(said.map((line) => /again in (.*) s/.exec(line)![1])).toEqual(['0.001', '0.002', '0.002'])
  attempts = 0
  await expect(openPatiently(open, false, signal, io, [1])).rejects.toBe(away)
  const wrong = new CatalogError('InvalidInput', 'no such database')
  await expect(openPatiently(() => Promise.reject(wrong), true, signal, io, [1])).rejects.toBe(wrong)
})
