import { expect, it } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { openWithRetries } from '../../src/cli/open.ts'
import { CatalogError } from '../../src/tabularium/index.ts'
import { refusingServer } from '../support/postgres-answers.ts'

const away = new CatalogError('ServiceUnavailable', 'Cannot use it: the server cannot be reached.')

/** Starts a server over a database, and stops it when it reports a retry. */
async function served(url: string): Promise<{ readonly code: number; readonly said: string }> {
  const stop = new AbortController()
  let said = ''
  const io = {
    stdin: (async function* () {})(),
    stdout: { write: () => {} },
    stderr: {
      write: (text: string | Uint8Array) => {
        said += String(text)
        if (said.includes('tries again')) stop.abort()
      },
    },
    env: {},
    version: '1.2.3',
    signal: stop.signal,
  }
  const code = await main(['serve', url, '--no-auth', '--port', '0'], io)
  return { code, said }
}

it('a server whose database is away at its start says so, and ends by a signal', async () => {
  const { code, said } = await served('postgres://u:secret@127.0.0.1:1/d')
  expect(code).toBe(0)
  expect(said).toMatch(/^tabularium: Cannot use .* cannot be reached.* The server tries again in 0\.5 s\.\n$/)
  expect(said).not.toContain('secret')
})

it.each([
  ['starts', '57P03'],
  ['ends', '57P01'],
  ['has too many connections', '53300'],
  ['is out of memory', '53200'],
])('a server waits for a database that %s', async (_, state) => {
  const { port } = await refusingServer(state)
  expect(await served(`postgres://u@127.0.0.1:${port}/d`)).toMatchObject({
    code: 0,
    said: expect.stringContaining('tries again'),
  })
})

it('a server waits for a name that nobody knows yet', async () => {
  const { said } = await served('postgres://u@no-such-host.invalid/d?sslmode=disable')
  expect(said).toContain('tries again')
})

it.each([
  ['a wrong password', '28P01', 'none', '', /^tabularium: PermissionDenied: .*password/],
  ['an unknown user', '28000', 'none', '', /^tabularium: PermissionDenied: .*user/],
  ['an unknown database', '3D000', 'none', '', /^tabularium: InvalidInput: .*no such database/],
  ['no TLS', '28P01', 'none', '?sslmode=verify-full', /speaks no TLS\./],
  [
    'a certificate that nobody vouches for',
    '28P01',
    'its certificate',
    '?sslmode=verify-full',
    /certificate of the server could not be verified \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
  ],
  ['old versions of TLS', '28P01', 'no common version', '?sslmode=no-verify', /do not agree on TLS \(\w+\)/],
] as const)('a server fails at once for %s', async (_, state, tls, query, message) => {
  const { port } = await refusingServer(state, tls)
  const { code, said } = await served(`postgres://u:secret@127.0.0.1:${port}/d${query}`)
  expect(said).toMatch(message)
  expect(said).toMatch(/^[^\n]+\.\n$/)
  expect(said).not.toMatch(/tries again|secret/)
  expect(code).toBe(1)
})

it.each(['db..example', `${'x'.repeat(64)}.example`, '10.0.0.256', 'db%20example'])(
  'a server fails at once for a host that cannot be: %s',
  async (host) => {
    const { code, said } = await served(`postgres://u:secret@${host}/d`)
    expect(said).toMatch(/^tabularium: InvalidInput: The (?:host|URL) of the database/)
    expect(said).not.toMatch(/tries again|secret/)
    expect(code).toBe(1)
  },
)

it('a server goes on when its database is there, waits longer and longer, and fails for what does not pass', async () => {
  const said: string[] = []
  const io = { stderr: { write: (text: string | Uint8Array) => void said.push(String(text)) } }
  const { signal } = new AbortController()
  let attempts = 0
  const open = async () => {
    if (++attempts < 4) throw away
    return 'open'
  }
  expect(await openWithRetries(open, true, signal, io, [1, 2])).toBe('open')
  expect(said.map((line) => /again in (.*) s/.exec(line)![1])).toEqual(['0.001', '0.002', '0.002'])
  attempts = 0
  await expect(openWithRetries(open, false, signal, io, [1])).rejects.toBe(away)
  const wrong = new CatalogError('InvalidInput', 'no such database')
  await expect(openWithRetries(() => Promise.reject(wrong), true, signal, io, [1])).rejects.toBe(wrong)
})
