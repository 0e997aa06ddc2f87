import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { profilePath } from '../../src/cli/profiles/profile-file.ts'
import { freshFolder } from '../support/catalogs.ts'
import { lines, run } from './run.ts'
import { overHttpServer } from './server.ts'

const token = 'a-good-long-token'

/** A user without profiles: the environment, and the path of the future file of profiles. */
async function user() {
  const folder = await freshFolder()
  const env = { XDG_CONFIG_HOME: join(folder, 'config') }
  const path = join(folder, 'config', 'tabularium', 'profiles.json')
  const type = (...args: string[]) => run(args, { env })
  return { folder, env, path, type }
}

describe('profiles', () => {
  it('are added, listed and removed, and no token is ever printed', async () => {
    const { type, path, env } = await user()
    expect(lines(await type('profile', 'list'))).toEqual([])
    const printed = [
      await type('profile', 'add', 'prod', 'https://tables.example', '--token', token),
      await type('profile', 'add', 'here', 'localhost'),
      await type('profile', 'add', 'db', 'postgres://me:hunter2@db.example/tables'),
      await run(['profile', 'add', 'in', 'https://x.example', '--token', '-', '--api-key', 'a-key'], {
        env,
        stdin: `${token}\n`,
      }),
      await type('profile', 'list', '--no-json'),
    ]
    const listed = await type('profile', 'list')
    for (const { code, out, err } of [...printed, listed]) {
      expect([code, err]).toEqual([0, ''])
      expect(out).not.toMatch(/a-good-long-token|hunter2|a-key/)
    }
    expect(lines(listed)).toEqual([
      { profile: 'prod', location: 'https://tables.example', token: 'kept in the profile', api_key: null },
      { profile: 'here', location: 'http://localhost:2333', token: null, api_key: null },
      { profile: 'db', location: expect.stringContaining('…@db.example/tables'), token: null, api_key: null },
      {
        profile: 'in',
        location: 'https://x.example',
        token: 'kept in the profile',
        api_key: 'kept in the profile',
      },
    ])
    expect(JSON.parse(await readFile(path, 'utf8')).profiles.in.token).toBe(token)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await stat(dirname(path))).mode & 0o777).toBe(0o700)
    expect((await type('profile', 'add', 'prod', 'x')).err).toContain('--force replaces it')
    expect((await type('profile', 'add', 'prod', './x', '--force')).code).toBe(0)
    const removed = await type('profile', 'rm', 'in')
    expect(removed.out).not.toContain(token)
    expect((await type('profile', 'remove', 'in')).err).toContain('there is no profile "in"')
    expect(lines(await type('profile', 'list'))).toHaveLength(3)
  })

  it('lead to their catalog, with what it takes to get in', async () => {
    const { type, folder } = await user()
    const url = await overHttpServer(token)
    await writeFile(join(folder, 'token'), `${token}\n`)
    const ways = {
      kept: ['--token', token],
      file: ['--token-file', join(folder, 'token')],
      wrong: ['--token', 'another-long-token'],
      none: [],
    }
    for (const [name, options] of Object.entries(ways)) await type('profile', 'add', name, url, ...options)
    expect((await type('declare', '@kept', 't')).err).toBe('')
    for (const name of ['kept', 'file']) {
      expect(lines(await type('ls', `@${name}`))).toEqual([{ table: 't' }])
      expect(lines(await type('-C', name, 'ls'))).toEqual([{ table: 't' }])
      expect(lines(await type(`--profile=${name}`, 'describe-table', 't'))).toMatchObject([
        { properties: {} },
      ])
    }
    for (const name of ['wrong', 'none'])
      expect((await type('ls', `@${name}`)).err).toContain('Unauthenticated')
    expect((await type('ls', '@wrong', '--token', token)).code).toBe(0)
    expect(lines(await type('ls', url, '--token', token))).toEqual([{ table: 't' }])
  })

  it('are chosen by the environment, where no location is typed', async () => {
    const { type, folder, env } = await user()
    const catalog = join(folder, 'catalog')
    await run(['create', catalog, 'prod', '--data', '[{"a":1}]'])
    await type('profile', 'add', 'disk', catalog)
    const chosen = (...args: string[]) => run(args, { env: { ...env, TABULARIUM_PROFILE: 'disk' } })
    expect(lines(await chosen('count', 'prod'))).toEqual([{ count: 1 }])
    expect(lines(await chosen('count', '--where', 'a > 1', 'prod'))).toEqual([{ count: 0 }])
    expect(lines(await chosen('ls'))).toEqual([{ table: 'prod' }])
    for (const location of [catalog, '@disk']) expect((await chosen('count', location, 'prod')).code).toBe(0)
    expect((await chosen('ls', '@none')).err).toContain('there is no profile "none"')
    expect((await chosen('profile', 'list')).code).toBe(0)
    expect((await chosen('--version')).out).toBe('1.2.3\n')
    expect((await chosen('-C', 'none', 'ls')).err).toContain('there is no profile "none"')
  })

  it('take their token from the environment when it is needed', async () => {
    const { type, env } = await user()
    await type('profile', 'add', 'prod', await overHttpServer(token), '--token-env', 'PROD_TOKEN')
    expect((await type('ls', '@prod')).err).toContain(
      'takes its token from the variable PROD_TOKEN, which is not set',
    )
    expect((await run(['ls', '@prod'], { env: { ...env, PROD_TOKEN: token } })).code).toBe(0)
  })

  it('refuse what they cannot be', async () => {
    const { type, folder } = await user()
    const refused = async (line: string[], message: string) => {
      const { code, out, err } = await type(...line)
      expect([code, out, err]).toEqual([2, '', expect.stringContaining(message)])
    }
    await refused(['profile', 'add', 'a b', './x'], 'must be 1 to 64 letters')
    await refused(['profile', 'add', '__proto__', './x'], 'must be 1 to 64 letters')
    await refused(['profile', 'add', 'a', './x', '--token', token], 'a directory or a database takes none')
    await refused(['profile', 'add', 'a', '@b'], 'not for another profile')
    await refused(['profile', 'add', 'a', 'http://x', '--token', token, '--token-env', 'T'], 'give one of')
    await refused(['-C'], 'needs the name of a profile')
    await refused(['-C', 'a', 'fake'], 'takes none')
    await refused(['ls', '@constructor'], 'there is no profile "constructor"')
    await type('profile', 'add', 'gone', 'http://127.0.0.1:1', '--token-file', join(folder, 'none'))
    await refused(['ls', '@gone'], 'which cannot be read')
    await writeFile(join(folder, 'big'), 'x'.repeat(70_000))
    await type('profile', 'add', 'big', 'http://127.0.0.1:1', '--token-file', join(folder, 'big'))
    await refused(['ls', '@big'], 'has more than 65,536 bytes')
    await refused(['ls', '@bi'], 'did you mean @big?')
  })
})

describe('the file of profiles', () => {
  const inFile = (...members: string[]) => `{\n  "profiles": {\n${members.join(',\n')}\n  }\n}\n`

  it.each([
    ['no JSON', inFile('    "a": {"location": }'), ':3: this is not JSON'],
    ['an end too early', '{"profiles":\n\n', ':3: this is not JSON'],
    ['another form', '[]', ':1: '],
    ['nothing', '{}', ':1: profiles is missing'],
    [
      'an unknown field',
      inFile('"a":{"location":"x"}', '"b":{"location":"x","tokn":"hush"}'),
      ':4: profiles.b.tokn is unknown; a profile has location',
    ],
    ['a missing field', inFile('"a":{\n"token":"hush"}'), ':3: profiles.a.location is missing'],
    ['a field of another type', inFile('"a":{\n"location":5}'), ':4: profiles.a.location must be a text'],
    [
      'two tokens',
      inFile('"a":{"location":"x","token":"hush","token_env":"T"}'),
      ':3: profiles.a has more than one of token',
    ],
    ['a bad name', inFile('"a b":{"location":"x"}'), ':3: profiles.a b must be 1 to 64 letters'],
    ['too much', ' '.repeat(300_000), 'has more than 262,144 bytes'],
  ])('with %s is refused with its line, and no value is told', async (_, text, message) => {
    const { path, type } = await user()
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text, { mode: 0o600 })
    const { code, err } = await type('ls', '@a')
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
    expect(err).not.toContain('hush')
    expect((await type('profile', 'add', 'c', './c')).code).toBe(2)
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  it.skipIf(process.platform === 'win32')('with secrets is refused where others can read it', async () => {
    const { type, path } = await user()
    await type('profile', 'add', 'a', 'http://127.0.0.1:1', '--token-env', 'T')
    await chmod(path, 0o644)
    expect((await type('profile', 'list')).code).toBe(0)
    await type('profile', 'add', 'b', 'http://127.0.0.1:1', '--token', token)
    await chmod(path, 0o640)
    const { code, err } = await type('ls', '@a')
    expect([code, err]).toEqual([2, expect.stringContaining(`run chmod 600 ${path}`)])
  })

  it.skipIf(process.platform === 'win32')('may be a link, which stays one', async () => {
    const { type, path, folder } = await user()
    await mkdir(dirname(path), { recursive: true })
    await writeFile(join(folder, 'elsewhere.json'), '{"profiles":{}}')
    await symlink(join(folder, 'elsewhere.json'), path)
    expect((await type('profile', 'add', 'a', './a')).err).toBe('')
    expect(await readFile(join(folder, 'elsewhere.json'), 'utf8')).toContain('"a"')
  })

  it.each([
    ['linux', { HOME: '/home/ann' }, '/home/ann/.config/tabularium/profiles.json'],
    ['linux', { HOME: '/home/ann', XDG_CONFIG_HOME: '/x' }, '/x/tabularium/profiles.json'],
    ['darwin', { HOME: '/Users/ann' }, '/Users/ann/Library/Application Support/tabularium/profiles.json'],
    ['win32', { APPDATA: '/roaming' }, '/roaming/tabularium/profiles.json'],
  ] as const)('lies on %s with %j at %s', (platform, env, path) => {
    expect(profilePath({ env }, platform)).toBe(join(path))
  })
})
