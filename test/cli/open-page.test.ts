import { existsSync } from 'node:fs'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { browserCall } from '../../src/cli/open-page.ts'
import { connect } from '../../src/client/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { run } from './run.ts'

/** Opens the page of a catalog until the test ends, and returns the printed URL. */
async function opened(
  args: readonly string[],
  // No display, and so no browser.
  env: Record<string, string> = {},
): Promise<{ url: string; token: string }> {
  const stop = new AbortController()
  const printed = await new Promise<string>((resolve, reject) => {
    const io = {
      stdin: (async function* () {})(),
      stdout: { write: (text: string | Uint8Array) => resolve(String(text)) },
      stderr: { write: (text: string | Uint8Array) => reject(new Error(String(text))) },
      env,
      version: '1.2.3',
      signal: stop.signal,
    }
    const done = main(['open', ...args], io)
    onTestFinished(async () => {
      stop.abort()
      expect(await done).toBe(0)
    })
  })
  const [, url, token] =
    /^tabularium shows the catalog at (http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]{43})\n$/.exec(printed)!
  return { url: url!, token: token! }
}

async function someCatalog(): Promise<string> {
  const folder = await freshFolder()
  expect((await run(['create', folder, 't', '--data', '[{"a":1}]'])).code).toBe(0)
  return folder
}

describe('open', () => {
  it('serves the page to whoever has the token, and to nobody else', async () => {
    const { url, token } = await opened([await someCatalog()])
    expect(await (await fetch(url)).text()).toContain('editable&quot;:false,&quot;token&quot;:true')
    expect((await fetch(`${url}/v1/table`)).status).toBe(401)
    await using catalog = await connect(url, { token })
    expect((await catalog.listAllTables({})).tables).toEqual(['t'])
  })

  it('refuses changes, unless --editable is given', async () => {
    const folder = await someCatalog()
    {
      const { url, token } = await opened([folder])
      await using catalog = await connect(url, { token })
      await expect(catalog.dropTable({ id: ['t'] })).rejects.toMatchObject({
        code: 'PermissionDenied',
        message: expect.stringContaining('--editable'),
      })
      expect((await catalog.countTableRows({ id: ['t'] })).count).toBe(1)
    }
    const { url, token } = await opened([folder, '--editable'])
    expect(await (await fetch(url)).text()).toContain('editable&quot;:true')
    await using catalog = await connect(url, { token })
    await catalog.dropTable({ id: ['t'] })
    expect((await catalog.listAllTables({})).tables).toEqual([])
  })

  it('makes a token of its own in each run', async () => {
    const folder = await someCatalog()
    const [one, two] = [await opened([folder]), await opened([folder])]
    expect(one.token).not.toBe(two.token)
  })

  it('hands the token to the browser by a path that leads there once', async () => {
    const folder = await freshFolder()
    const said = join(folder, 'said')
    // A stub of a browser, whose arguments every user of the machine could see.
    await writeFile(
      join(folder, 'xdg-open'),
      `#!/bin/sh\nprintf %s "$1" > '${said}.part' && mv '${said}.part' '${said}'\n`,
    )
    await chmod(join(folder, 'xdg-open'), 0o755)
    const env = { PATH: `${folder}:${process.env.PATH}`, DISPLAY: ':0' }
    const { url, token } = await opened([await someCatalog()], env)
    await expect.poll(() => existsSync(said)).toBe(true)
    const called = await readFile(said, 'utf8')
    expect(called).toMatch(new RegExp(`^${url}/open/[\\w-]{43}$`))
    expect(called).not.toContain(token)
    const first = await fetch(called, { redirect: 'manual' })
    expect([first.status, first.headers.get('location')]).toEqual([303, `/#token=${token}`])
    const second = await fetch(called, { redirect: 'manual' })
    expect([second.status, await second.text()]).toEqual([404, expect.not.stringContaining(token)])
  })

  it('creates no catalog, and leaves servers to their own page', async () => {
    const missing = await run(['open', await freshFolder(), '--no-browser'])
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('There is no catalog in')])
    const server = await run(['open', 'http://127.0.0.1:1', '--no-browser'])
    expect([server.code, server.err]).toEqual([2, expect.stringContaining('a server shows its page itself')])
  })
})

describe('serve', () => {
  it('takes --editable for the page, and not without one', async () => {
    const refused = await run(['serve', 'memory:', '--no-auth', '--no-page', '--editable'])
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--no-page leaves out')])
  })
})

it.each([
  ['darwin', {}, 'open'],
  ['win32', {}, 'rundll32'],
  ['linux', { DISPLAY: ':0' }, 'xdg-open'],
  ['linux', { WAYLAND_DISPLAY: 'w' }, 'xdg-open'],
  ['linux', {}, undefined],
] as const)('a browser on %s with %o is opened by %s', (platform, env, command) => {
  const call = browserCall(platform, 'http://127.0.0.1:1/open/x', env)
  expect(call?.[0]).toBe(command)
  if (call) expect(call.at(-1)).toBe('http://127.0.0.1:1/open/x')
})
