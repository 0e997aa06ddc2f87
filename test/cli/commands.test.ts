import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { tableFromIPC } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import { fieldsOf, hiddenFields } from '../../src/cli/fields.ts'
import { optionsOf } from '../../src/cli/options.ts'
import { operations } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { limitEach } from '../support/time-limit.ts'
import { lines, run } from './run.ts'

// It runs the examples of all commands.
limitEach(60)

const flights = 'origin,delay,late\nSFO,75,true\nOAK,12.0,false\nSFO,,false\n'

/** A catalog with prod.flights in three rows, and the folder it is in. */
async function catalog() {
  const folder = await freshFolder()
  const location = join(folder, 'catalog')
  await writeFile(join(folder, 'flights.csv'), flights)
  expect(await run(['create-namespace', location, 'prod'])).toMatchObject({ code: 0, err: '' })
  const data = join(folder, 'flights.csv')
  expect(await run(['create', location, 'prod.flights', '--data', data])).toMatchObject({ code: 0, err: '' })
  return { folder, location }
}

const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

describe('help', () => {
  it('shows the commands of no group last', async () => {
    const { out } = await run(['--help'])
    const groups = Array.from(out.matchAll(/^(\S.*):$/gm), ([, name]) => name)
    expect(groups.slice(groups.indexOf('The command line'), -1)).toEqual(['The command line', 'Commands'])
  })

  it('lists every operation there is, with its short names', async () => {
    const { code, out } = await run(['--help'])
    expect(code).toBe(0)
    for (const { definition } of Object.values(operations)) {
      const listed = new RegExp(`^  ${kebab(definition.name)}[, ]`, 'm')
      if (definition.errors.join() === 'Unsupported') expect(out).not.toMatch(listed)
      else expect(out).toMatch(listed)
    }
    expect(out).toMatch(/count-table-rows, count +Count the rows of a table\./)
    expect(out).toContain('Examples:')
  })

  it.each(Object.values(operations).map(({ definition }) => definition))(
    'tells all about $name',
    async ({ name, summary, errors, request }) => {
      const { code, out } = await run([kebab(name), '--help'])
      expect(code).toBe(0)
      expect(out).toContain(summary.split('.')[0])
      if (errors.join() === 'Unsupported') return
      expect(out).toMatch(/Examples:\n {2}\$ tabularium [\w-]+ /)
      for (const field of Object.keys(request.entries)) {
        if (field !== 'id' && !hiddenFields.has(field))
          expect(out).toMatch(new RegExp(`--(no-)?${field.replaceAll('_', '-')}\\b`))
      }
    },
  )

  it('says of each option what it is for', () => {
    for (const { definition } of Object.values(operations)) {
      if (definition.errors.join() === 'Unsupported') continue
      for (const field of fieldsOf(definition)) {
        if (field.name === 'id' || field.name === 'delimiter') continue
        for (const { hidden, description, long } of optionsOf(field).options) {
          const toAdd = `src/catalog/operations/types/field-docs.ts: to requests, ${field.name}: '…', for ${definition.name} ${long}`
          if (!hidden) expect(description, toAdd).toMatch(/^(?!a string|true or false)\w/)
        }
      }
    }
  })

  it.each(['serve', 'vacuum'])('tells all about %s', async (name) => {
    expect(await run([name, '--help'])).toMatchObject({ code: 0, out: expect.stringContaining('Examples:') })
  })

  it('examples are typed as they should be', async () => {
    const folder = await freshFolder()
    for (const { definition } of Object.values(operations)) {
      const { out } = await run([kebab(definition.name), '--help'])
      for (const [, command] of out.matchAll(/^ {2}\$ tabularium (.*)$/gm)) {
        const words = [...command!.split(' < ')[0]!.matchAll(/'([^']*)'|(\S+)/g)].map(([, a, b]) => a ?? b!)
        const { needsServer } = definition.command as { readonly needsServer?: boolean }
        const place = needsServer ? 'http://127.0.0.1:1' : join(folder, 'none')
        const args = words.map((word) => (word === './catalog' || word.startsWith('http') ? place : word))
        const { code, err } = await run(args, { stdin: '{"a":1}' })
        // The files that it mentions do not exist here.
        if (!err.includes('cannot be read from')) expect(code, `${command}: ${err}`).not.toBe(2)
      }
    }
  })

  it('the version is told', async () => {
    expect(await run(['--version'])).toMatchObject({ code: 0, out: '1.2.3\n' })
  })
})

describe('commands on a directory', () => {
  it('count, query and delete rows', async () => {
    const { location } = await catalog()
    const table = [location, 'prod.flights']
    expect(lines(await run(['count', ...table]))).toEqual([{ count: 3 }])
    expect(lines(await run(['count', ...table, '--where', 'delay > 60']))).toEqual([{ count: 1 }])
    expect(lines(await run(['count-table-rows', ...table, '--predicate', 'late']))).toEqual([{ count: 1 }])
    expect(lines(await run(['query', ...table, '--columns', 'origin, delay', '--limit', '2']))).toEqual([
      { origin: 'SFO', delay: 75 },
      { origin: 'OAK', delay: 12 },
    ])
    const aliases = '{"column_aliases":{"from":"origin"}}'
    expect(lines(await run(['query', ...table, '--columns', aliases, '--where', 'delay IS NULL']))).toEqual([
      { from: 'SFO' },
    ])
    expect(lines(await run(['delete', ...table, '--where', 'late']))).toMatchObject([{ version: 2 }])
    expect(lines(await run(['count', ...table, '--version', '1']))).toEqual([{ count: 3 }])
    expect(lines(await run(['count', ...table]))).toEqual([{ count: 2 }])
  })

  it('write no Arrow to a terminal', async () => {
    const { location } = await catalog()
    const asked = ['query', location, 'prod.flights', '--output', '-']
    const ran = await run(asked, { terminal: true })
    expect(ran).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('standard output is a terminal'),
    })
    expect((await run(asked)).out).toContain('delay')
  })

  it('write queries to files, from which tables can be made', async () => {
    const { folder, location } = await catalog()
    for (const name of ['out.arrow', 'out.jsonl', 'out.csv']) {
      const file = join(folder, name)
      expect(await run(['query', location, 'prod.flights', '--output', file])).toMatchObject({
        code: 0,
        out: '',
      })
      expect((await run(['create', location, 'copy', '--mode', 'overwrite', '--data', file])).err).toBe('')
      expect(lines(await run(['query', location, 'copy']))).toEqual([
        { origin: 'SFO', delay: 75, late: true },
        { origin: 'OAK', delay: 12, late: false },
        { origin: 'SFO', delay: null, late: false },
      ])
    }
    expect(tableFromIPC(await readFile(join(folder, 'out.arrow'))).numRows).toBe(3)
    expect(await run(['query', location, 'copy', '-o', join(folder, 'out.xls')])).toMatchObject({ code: 2 })
  })

  it('read rows from standard input and from the command line itself', async () => {
    const { location } = await catalog()
    const insert = ['insert', location, 'prod.flights', '--data']
    const row = '{"origin":"LAX","delay":1.5,"late":null}'
    expect(lines(await run([...insert, '-'], { stdin: `${row}\n${row}\n` }))).toMatchObject([
      { num_inserted_rows: 2, version: 2 },
    ])
    expect((await run([...insert, '-'], { stdin: `[${row}]` })).code).toBe(0)
    expect((await run([...insert, `[${row}]`])).code).toBe(0)
    expect((await run([...insert, row])).code).toBe(0)
    const spread = JSON.stringify(JSON.parse(row), null, 2)
    expect((await run([...insert, '-'], { stdin: spread })).code).toBe(0)
    expect((await run([...insert, '-'], { stdin: 'origin,delay,late\nJFK,3,true\n' })).code).toBe(0)
    expect(lines(await run(['count', location, 'prod.flights']))).toEqual([{ count: 10 }])
    const wrong = await run([...insert, '-'], { stdin: 'origin,delya\nJFK,3\n' })
    expect(wrong.err).toMatch(
      /^tabularium: line 1 of standard input: Column "delya" is not in .* mean "delay"\?/,
    )
  })

  it('list tables and namespaces, all of them unless told otherwise', async () => {
    const { location } = await catalog()
    await run(['create-namespace', location, 'prod.eu'])
    for (const name of ['a', 'b', 'c']) await run(['declare', location, `prod.eu.${name}`])
    const all = ['prod.eu.a', 'prod.eu.b', 'prod.eu.c', 'prod.flights'].map((table) => ({ table }))
    expect(lines(await run(['list', location]))).toEqual(all)
    expect(lines(await run(['ls', location, 'prod.eu']))).toEqual(all.slice(0, 3))
    expect(lines(await run(['list-all', location, '--delimiter', '/']))).toContainEqual({
      table: 'prod/eu/a',
    })
    expect(lines(await run(['list', location, '--no-include-declared']))).toEqual(all.slice(3))
    expect(lines(await run(['namespaces', location]))).toEqual([{ namespace: 'prod' }])
    expect(lines(await run(['namespaces', location, 'prod']))).toEqual([{ namespace: 'eu' }])
    const page = await run(['list', location, '--limit', '3'])
    expect(lines(page)).toEqual(all.slice(0, 3))
    const token = /^more: --page-token (\S+)\n$/.exec(page.err)![1]!
    expect(lines(await run(['list', location, '--page-token', token]))).toEqual(all.slice(3))
  })

  it('walk listings of many pages', async () => {
    const { location } = await catalog()
    const operations = Array.from({ length: 2_345 }, (_, i) => ({ declare_table: { id: [`t${i}`] } }))
    expect((await run(['commit', location, '@-'], { stdin: JSON.stringify(operations) })).err).toBe('')
    expect(lines(await run(['list', location]))).toHaveLength(2_346)
  })

  it('rename in place and across namespaces', async () => {
    const { location } = await catalog()
    await run(['create-namespace', location, 'archive.x'.split('.')[0]!])
    expect((await run(['rename', location, 'prod.flights', 'old'])).code).toBe(0)
    expect((await run(['mv', location, 'prod.old', 'archive.older'])).code).toBe(0)
    expect((await run(['mv', location, 'archive.older', 'top', '--new-namespace-id', '.'])).code).toBe(0)
    expect((await run(['rename', location, 'top', '--new-table-name', 'a.b'])).code).toBe(0)
    expect(lines(await run(['list', location, '--delimiter', '/']))).toEqual([{ table: 'a.b' }])
    expect((await run(['exists', location, 'a.b', '--delimiter', '/'])).code).toBe(0)
    expect((await run(['exists', location, 'a.b'])).code).toBe(1)
  })

  it('keep versions, tags and branches', async () => {
    const { location } = await catalog()
    const table = [location, 'prod.flights']
    await run(['delete', ...table, '--where', 'late'])
    expect(lines(await run(['versions', ...table, '--descending']))).toMatchObject([
      { version: 2 },
      { version: 1 },
    ])
    expect((await run(['tag', ...table, 'first', '1'])).code).toBe(0)
    expect(lines(await run(['tags', ...table]))).toMatchObject([{ tag: 'first', version: 1 }])
    expect((await run(['move-tag', ...table, 'first', '2'])).code).toBe(0)
    expect(lines(await run(['tag-version', ...table, 'first']))).toEqual([{ version: 2 }])
    expect((await run(['untag', ...table, 'first'])).code).toBe(0)
    expect((await run(['branch', ...table, 'try', '--from-version', '1'])).code).toBe(0)
    expect(lines(await run(['branches', ...table]))).toMatchObject([{ branch: 'try', parentVersion: 1 }])
    expect(lines(await run(['count', ...table, '--branch', 'try']))).toEqual([{ count: 3 }])
    expect((await run(['revert', ...table, '1'])).code).toBe(0)
    expect(lines(await run(['count', ...table]))).toEqual([{ count: 3 }])
    const ranges = '[{"start_version":1,"end_version":2}]'
    expect(lines(await run(['delete-versions', ...table, '--ranges', ranges]))).toMatchObject([
      { deleted_count: 1 },
    ])
  })

  it('take pairs, one by one or as JSON', async () => {
    const { location } = await catalog()
    const pairs = ['--properties', 'a=1', '--properties', 'b=x=y', '--properties', '{"c":"3"}']
    expect(lines(await run(['declare', location, 'prod.d', ...pairs]))).toMatchObject([
      { properties: { a: '1', b: 'x=y', c: '3' } },
    ])
    const updated = await run(['set-metadata', location, 'prod.flights', '--metadata', 'unit=m'])
    expect(lines(updated)).toMatchObject([{ metadata: { unit: 'm' } }])
  })

  it('describe transactions', async () => {
    const { location } = await catalog()
    const [{ transaction_id }] = lines(await run(['declare', location, 'd'])) as [{ transaction_id: string }]
    for (const id of [transaction_id, `d.${transaction_id}`]) {
      expect(lines(await run(['transaction', location, id]))).toMatchObject([{ status: 'Succeeded' }])
    }
  })

  it('vacuum tells what it did', async () => {
    const { location } = await catalog()
    const { out, code } = await run(['vacuum', location, '--grace', '0s', '--dry-run'])
    expect([code, JSON.parse(out)]).toEqual([0, { examined: expect.any(Number), removed: 0, bytes: 0 }])
    expect((await run(['vacuum', 'http://127.0.0.1:1'])).code).toBe(2)
  })

  it('vacuum removes versions by a rule, or tells how many it would', async () => {
    const { location, folder } = await catalog()
    const data = join(folder, 'flights.csv')
    for (let n = 0; n < 3; n++) await run(['insert', location, 'prod.flights', '--data', data])
    const rule = ['--retain-versions', '2', '--grace', '0s']
    const dry = await run(['vacuum', location, ...rule, '--dry-run'])
    expect(lines(dry)).toMatchObject([{ versions: 2 }])
    expect(lines(await run(['versions', location, 'prod.flights']))).toHaveLength(4)
    expect(lines(await run(['vacuum', location, ...rule, '--retain-age', '1h']))).toMatchObject([
      { versions: 0 },
    ])
    expect(lines(await run(['vacuum', location, ...rule]))).toMatchObject([{ versions: 2 }])
    const { err, code } = await run(['count', location, 'prod.flights', '--version', '1'])
    expect([code, err]).toEqual([1, expect.stringContaining('Retention removed version 1')])
  })
})

describe('on a terminal', () => {
  it('rows are a table, numbers to the right', async () => {
    const { location } = await catalog()
    const { out } = await run(['query', location, 'prod.flights'], { terminal: true })
    expect(out).toBe(
      [
        'origin  delay  late',
        '──────  ─────  ─────',
        'SFO        75  true',
        'OAK        12  false',
        'SFO      null  false',
        '',
      ].join('\n'),
    )
  })

  it('one thing is a list of what it has; nothing is said to be nothing', async () => {
    const { location } = await catalog()
    const { out } = await run(['describe', location, 'prod.flights'], {
      terminal: true,
    })
    expect(out).toMatch(/^version +1$/m)
    expect(out).toMatch(/^schema\.origin +string$/m)
    expect(out).toMatch(/^schema\.delay +double$/m)
    expect((await run(['exists', location, 'prod.flights'], { terminal: true })).out).toBe('ok\n')
    expect((await run(['tags', location, 'prod.flights'], { terminal: true })).out).toBe('none\n')
  })

  it('what the data holds cannot steer it', async () => {
    const { location } = await catalog()
    await run(['create', location, 'evil', '--data', '[{"text":"\\u001b[2J\\u202eabc\\n"}]'])
    const { out } = await run(['query', location, 'evil'], { terminal: true })
    expect(out).toContain('\\u001b[2J\\u202eabc\\n')
  })

  it('--json and --no-json decide', async () => {
    const { location } = await catalog()
    expect((await run(['count', location, 'prod.flights', '--json'], { terminal: true })).out).toBe(
      '{"count":3}\n',
    )
    expect((await run(['count', location, 'prod.flights', '--no-json'])).out).toBe('count  3\n')
  })
})

describe('what goes wrong', () => {
  it.each([
    ['an unknown command', ['lsit', './c'], /unknown command "lsit"; did you mean list\?/],
    ['a missing argument', ['count'], /missing required argument 'location'/],
    ['a missing identifier', ['count', './c'], /missing required argument 'table'/],
    ['a missing option', ['delete', './c', 't'], /--where is missing/],
    [
      'an unknown option',
      ['count', './c', 't', '--wher', 'x'],
      /unknown option '--wher'\n\(Did you mean --where\?\)\n\(see/,
    ],
    [
      'an option like the other name of one',
      ['update', './c', 't', '--update', 'x'],
      /unknown option '--update'\n\(Did you mean --updates\?\)\n\(see/,
    ],
    ['an option like no other', ['count', './c', 't', '--frobnicate'], /'--frobnicate'\n\(see/],
    [
      'a number that is none',
      ['count', './c', 't', '--version', 'x'],
      /'--version <number>'[\s\S]*not a number/,
    ],
    ['JSON that is none', ['commit', './c', '{'], /--operations is not JSON/],
    ['a pair that is none', ['declare', './c', 't', '--properties', 'x'], /write key=value/],
    ['an identifier with a hole', ['count', './c', 'a..b'], /"a\.\.b" is not an identifier/],
    ['a file that is not there', ['create', './c', 't', '--data', '/no/such.csv'], /there is no such file/],
    ['JSON of a file that is not there', ['commit', './c', '@/no/such.json'], /there is no such file/],
    ['help for a command that is none', ['help', 'cuont'], /unknown command "cuont"; did you mean count/],
    ['too much', ['count', './c', 't', 'u'], /too many arguments/],
    ['a URL of another kind', ['list', 'ftp://x'], /cannot be opened: give a directory, or a URL/],
    ['serving without a say who may call', ['serve', 'memory:'], /no caller could use this server/],
    [
      'tokens and nobody asked for one',
      ['serve', 'memory:', '--no-auth', '--token', 'abcdefghijklmnop'],
      /leave out/,
    ],
    ['half of what tokens need', ['serve', 'memory:', '--issuer', 'x'], /all of --jwks-url/],
    ['serving a server', ['serve', 'http://x', '--no-auth'], /directory of a catalog/],
  ])('%s has exit code 2, and says so', async (_, args, message) => {
    const { code, out, err } = await run(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(message)
    expect(err).toMatch(/^tabularium: /)
  })

  it('what the catalog refuses has exit code 1 and one line with the code', async () => {
    const { location } = await catalog()
    for (const [args, line] of [
      [['describe', location, 'prod.nope'], /^tabularium: TableNotFound: There is no table .*\n$/],
      [['create-namespace', location, 'prod'], /^tabularium: NamespaceAlreadyExists: .*\n$/],
      [['count', location, 'prod.flights', '--where', 'delay >'], /^tabularium: InvalidInput: .*\n$/],
      [
        ['count', location, 'prod.flights', '--version', '-1'],
        /^tabularium: InvalidInput: .*version must be.*\n$/,
      ],
      [
        ['alter-table-backfill-columns', location, 'prod.flights', '--column', 'x'],
        /^tabularium: Unsupported: alterTableBackfillColumns .*\n$/,
      ],
      [
        ['query', location, 'prod.flights', '--vector', '[1]'],
        /^tabularium: InvalidInput: No vector column .*\n$/,
      ],
      [
        ['delete-versions', location, 'prod.flights', '--ranges', '[1,2]'],
        /^tabularium: InvalidInput: --ranges\[0\] must be an object\.\n$/,
      ],
    ] as const) {
      const { code, out, err } = await run(args)
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err).toMatch(line)
    }
  })

  it('a file named as Arrow must be Arrow', async () => {
    const file = join(await freshFolder(), 'no.arrow')
    await writeFile(file, 'a\n')
    const { code, err } = await run(['create', './c', 't', '--data', file])
    expect([code, err]).toEqual([2, expect.stringContaining('no.arrow is not an Arrow IPC')])
  })

  it('a path that holds no catalog stays unchanged, unless the command may create one', async () => {
    const folder = await freshFolder()
    const missing = join(folder, 'missing')
    const { code, err } = await run(['list', missing])
    expect([code, err]).toEqual([1, expect.stringContaining(`There is no catalog in ${missing}`)])
    expect((await run(['drop', missing, 't'])).code).toBe(1)
    expect((await run(['declare', missing, 't'])).code).toBe(0)
    expect((await run(['list', missing])).code).toBe(0)
  })

  it('an interrupt stops what runs', async () => {
    const { location } = await catalog()
    const abort = new AbortController()
    abort.abort(new Error('interrupted'))
    expect(await run(['count', location, 'prod.flights'], { signal: abort.signal })).toEqual({
      code: 130,
      out: '',
      err: 'tabularium: interrupted\n',
    })
  })
})
