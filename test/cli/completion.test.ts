import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { splitLine } from '../../src/cli/completion/completion-command.ts'
import { program } from '../../src/cli/main.ts'
import { freshFolder } from '../support/catalogs.ts'
import { home } from './home.ts'
import { run } from './run.ts'
import { overHttpServer } from './server.ts'

const streams = { stdin: (async function* () {})(), stdout: { write: () => {} }, stderr: { write: () => {} } }

/** The completions for the last word of a line. */
async function offered(line: string, env: Readonly<Record<string, string>> = {}) {
  const { code, out, err } = await run(['__complete', '--line', `tabularium ${line}`], { env })
  expect([code, err]).toEqual([0, ''])
  const [files, ...found] = out.trimEnd().split('\n')
  return { files: files === 'files', found: found.map((text) => text.split('\t')[0]!) }
}

describe('what is offered', () => {
  it('are commands, with what they do', async () => {
    expect((await offered('hea')).found).toEqual(['head'])
    expect((await offered('')).found).toEqual(
      expect.arrayContaining(['ls', 'list-tables', 'profile', 'watch']),
    )
    expect((await offered('')).found).not.toContain('__complete')
    expect((await offered('profile re')).found).toEqual(['remove'])
    // They are those of the program, though it makes no options for them.
    const whole = await program({ ...streams, env: {}, version: '1', signal: new AbortController().signal })
    const visible = whole.createHelp().visibleCommands(whole)
    expect((await offered('')).found).toEqual(visible.flatMap((one) => [one.name(), ...one.aliases()]))
    const { out } = await run(['__complete', '--', 'hea'])
    expect(out).toBe('none\nhead\tShow the first rows of a table.\n')
  })

  it('are options, and the values of those that have some', async () => {
    expect((await offered('head ./c --b')).found).toEqual(['--branch'])
    expect((await offered('head ./c --vector')).found).toEqual([])
    expect((await offered('serve --log ')).found).toEqual(['debug', 'info', 'warn', 'error'])
    expect((await offered('completion f')).found).toEqual(['fish'])
    expect(await offered('query ./c t --output ')).toEqual({ files: true, found: [] })
    expect(await offered('count ./c t --where ')).toEqual({ files: false, found: [] })
  })

  it('are profiles and files for a location', async () => {
    const { env } = await home(await freshFolder())
    expect(await offered('ls ', env)).toEqual({ files: true, found: ['@home'] })
    expect(await offered('ls @', env)).toEqual({ files: false, found: ['@home'] })
    expect((await offered('-C ', env)).found).toEqual(['home'])
    expect(await offered('backup ./c ')).toMatchObject({ files: true })
  })

  it('are the names of the catalog', async () => {
    const { env, catalog } = await home(await freshFolder())
    for (const at of [catalog, '@home']) {
      expect((await offered(`head ${at} `, env)).found).toEqual(['prod.', 'planes'])
      expect((await offered(`head ${at} p`, env)).found).toEqual(['prod.', 'planes'])
      expect((await offered(`head ${at} pl`, env)).found).toEqual(['planes'])
      expect((await offered(`head ${at} prod.`, env)).found).toEqual([
        'prod.eu.',
        'prod.flights',
        'prod.flights_old',
      ])
      expect((await offered(`head ${at} prod.flights`, env)).found).toEqual([
        'prod.flights',
        'prod.flights_old',
      ])
      expect((await offered(`ls ${at} prod.`, env)).found).toEqual(['prod.eu'])
      expect((await offered(`head ${at} prod.flights --tag `, env)).found).toEqual(['stable'])
      expect((await offered(`head ${at} prod.flights --branch `, env)).found).toEqual(['try'])
      expect((await offered(`head ${at} --delimiter / prod/fl`, env)).found).toEqual([
        'prod/flights',
        'prod/flights_old',
      ])
    }
    expect((await offered('-C home head prod.fl', env)).found).toEqual(['prod.flights', 'prod.flights_old'])
    const url = await overHttpServer('a-good-long-token')
    await run(['declare', url, 't', '--token', 'a-good-long-token'])
    expect((await offered(`head ${url} `)).found).toEqual([])
    expect((await offered(`head ${url} --token a-good-long-token `)).found).toEqual(['t'])
    expect((await offered(`head ${url} `, { TABULARIUM_TOKEN: 'a-good-long-token' })).found).toEqual(['t'])
  })

  it('is nothing, said quietly, where something goes wrong', async () => {
    for (const line of [
      'head ./none ',
      'head @none ',
      'head http://127.0.0.1:1 ',
      'head db.example:1 ',
      'nonsense ',
      "head './un",
    ]) {
      expect((await offered(line)).found).toEqual([])
    }
    const folder = await freshFolder()
    await mkdir(join(folder, 'tabularium'))
    await writeFile(join(folder, 'tabularium', 'profiles.json'), '{')
    expect(await offered('ls ', { XDG_CONFIG_HOME: folder })).toEqual({ files: false, found: [] })
  })

  it('does not wait for a server that does not answer', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await new Promise((resolve) => silent.once('listening', resolve))
    onTestFinished(() => void silent.close())
    const { port } = silent.address() as { port: number }
    expect((await offered(`head http://127.0.0.1:${port} `)).found).toEqual([])
  })

  it('is bounded', async () => {
    const catalog = join(await freshFolder(), 'catalog')
    const operations = Array.from({ length: 1_000 }, (_, i) => ({ declare_table: { id: [`t${i}`] } }))
    await run(['commit', catalog, '@-'], { stdin: JSON.stringify(operations) })
    expect((await offered(`head ${catalog} `)).found).toHaveLength(200)
    expect((await offered(`head ${catalog} t99`)).found).toHaveLength(11)
  })
})

it.each([
  ['a b', ['a', 'b']],
  ['a ', ['a', '']],
  ['', ['']],
  [`a 'b c' "d e`, ['a', 'b c', 'd e']],
  [`a\\ b "c\\"d" ''`, ['a b', 'c"d', '']],
])('a line %j has the words %j', (line, words) => {
  expect(splitLine(line)).toEqual(words)
})
