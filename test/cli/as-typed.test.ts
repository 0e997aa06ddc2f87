import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { tableFromIPC } from '@uwdata/flechette'
import { beforeEach, describe, expect, it } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { freshFolder } from '../support/catalogs.ts'
import { run } from './run.ts'

let folder: string
let catalog: string

beforeEach(async () => {
  folder = await freshFolder()
  catalog = join(folder, 'catalog')
})

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

describe('a namespace that is not there', () => {
  const next = async (...[name, ...words]: readonly string[]) => {
    const { code, err } = await run([name!, catalog, ...words])
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('NamespaceNotFound') })
    return /\((tabularium [^)]+)\)/.exec(err)?.[1]
  }

  it('is created by the command that the error of a creation says', async () => {
    const rows = await file('rows.jsonl', '{"a":1}')
    const create = ['create', 'prod.eu.t', '--data', rows] as const
    const said = await next(...create)
    expect(said).toBe(`tabularium create-namespace ${catalog} prod.eu --parents`)
    expect(await run(said!.split(' ').slice(1))).toMatchObject({ code: 0 })
    expect(await run([create[0], catalog, ...create.slice(1)])).toMatchObject({ code: 0 })
    expect(await next('declare', 'prod.us.t')).toBe(`tabularium create-namespace ${catalog} prod.us`)
  })

  it.each([
    [['declare', "it's.t"], `'it'\\''s'`],
    [['create-namespace', 'a/b/c', '--delimiter', '/'], 'a/b/c --parents --delimiter /'],
  ] as const)('is named in words of a shell: %j', async (words, named) => {
    await run(['create-namespace', catalog, 'other'])
    expect(await next(...words)).toBe(`tabularium create-namespace ${catalog} ${named}`)
  })

  it('is no reason to create it for what creates nothing', async () => {
    await run(['create-namespace', catalog, 'other'])
    expect(await next('drop-namespace', 'none')).toBeUndefined()
  })
})

describe('an error names tables as they were typed', () => {
  it.each([
    [['count', 'prod.bb'], /no table prod\.bb\. List the tables of prod to/],
    [
      ['count', 'prd.eu.b'],
      /no table prd\.eu\.b, nor a namespace prd\. Create it first, or list the namespaces of the root to/,
    ],
    [
      ['count', 'prod.eu.b'],
      /no table prod\.eu\.b, nor a namespace prod\.eu\. .* list the namespaces of prod to/,
    ],
    [
      ['drop-namespace', 'prd.eu'],
      /no namespace prd\. Create it first, or list the namespaces of the root to/,
    ],
    [
      ['count', 'prd/b', '--delimiter', '/'],
      /no table prd\/b, nor a namespace prd\. .* namespaces of the root to/,
    ],
    [['count', 'prd:b', '--delimiter=:'], /no table prd:b, nor/],
    [['clone', 'prod.c', '--source', 'prod.none'], /no table prod\.none\./],
    [['describe', 'prod$b'], /no name has a "\$" in it\. Write prod\.b, or add --delimiter '\$'/],
    [['count', 'prd$b', '--delimiter', '$'], /no table prd\$b, nor/],
  ])('%j', async ([command, ...args], message) => {
    await run(['create-namespace', catalog, 'prod'])
    const ran = await run([command!, catalog, ...args])
    expect(ran.code).not.toBe(0)
    expect(ran.err).toMatch(message)
  })
})

describe('rows for other programs', () => {
  it('are a stream on standard output and in .arrows, and a file in .arrow', async () => {
    await run(['create', catalog, 't', '--data', '[{"x":1,"s":"a"},{"x":2,"s":"b"}]'])
    const bytes: Uint8Array[] = []
    const stdout = { write: (chunk: string | Uint8Array) => bytes.push(Buffer.from(chunk as Uint8Array)) }
    const { signal } = new AbortController()
    const io = {
      stdin: Readable.from([]),
      stdout,
      stderr: { write: () => {} },
      env: {},
      version: '1',
      signal,
    }
    expect(await main(['query', catalog, 't', '-o', '-'], io)).toBe(0)
    const [arrows, arrow] = [join(folder, 'a.arrows'), join(folder, 'a.arrow')]
    for (const path of [arrows, arrow]) await run(['query', catalog, 't', '-o', path])
    const piped = Buffer.concat(bytes)
    expect(piped.subarray(0, 4)).toEqual(Buffer.from([0xff, 0xff, 0xff, 0xff]))
    expect(piped.subarray(-8)).toEqual(Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]))
    expect(piped.equals(await readFile(arrows))).toBe(true)
    const inFile = await readFile(arrow)
    expect(inFile.subarray(0, 6).toString()).toBe('ARROW1')
    expect(tableFromIPC(piped).toArray()).toEqual(tableFromIPC(inFile).toArray())
    expect(tableFromIPC(piped).numRows).toBe(2)
  })

  it('are differences of versions, in every form that rows of a query have', async () => {
    await run(['create', catalog, 'd', '--data', '[{"k":1,"s":"a"},{"k":2,"s":"b"}]'])
    await run(['update', catalog, 'd', '--updates', '[["s","\'new\'"]]', '--where', 'k = 2'])
    const asked = ['diff', catalog, 'd', '--from', '1', '--to', 'latest', '--on', 'k']
    const lines =
      '{"k":2,"s":"b","_change_type":"update_preimage"}\n{"k":2,"s":"new","_change_type":"update_postimage"}\n'
    expect((await run([...asked, '--json'])).out).toBe(lines)
    const [csv, jsonl, arrow] = ['d.csv', 'd.jsonl', 'd.arrow'].map((name) => join(folder, name))
    for (const path of [csv, jsonl, arrow]) await run([...asked, '-o', path!])
    expect(await readFile(jsonl!, 'utf8')).toBe(lines)
    expect(await readFile(csv!, 'utf8')).toBe(
      'k,s,_change_type\r\n2,b,update_preimage\r\n2,new,update_postimage\r\n',
    )
    expect(tableFromIPC(await readFile(arrow!)).numRows).toBe(2)
    const late = await run(['diff', catalog, 'd', '--from', '1 hour ago'])
    expect(late.err).toMatch(/had no version that still exists/)
    expect((await run(['diff', catalog, 'd'])).err).toMatch(/--from/)
    expect((await run(['diff', catalog, 'd', '--from', 'main@1', '--to', 'main@1', '--json'])).out).toBe('')
  })

  it('have whole numbers as numbers in JSON, with all of their digits, and come back so', async () => {
    const lines =
      '{"n":1,"in":{"n":-9223372036854775808},"l":[9007199254740993,2]}\n{"n":9007199254740993,"in":{"n":0},"l":[]}\n'
    await run(['create', catalog, 't', '--data', await file('a.jsonl', lines)])
    expect((await run(['query', catalog, 't', '--json'])).out).toBe(lines)
    const csv = join(folder, 'a.csv')
    const json = join(folder, 'b.jsonl')
    for (const path of [csv, json]) await run(['query', catalog, 't', '-o', path])
    expect(await readFile(json, 'utf8')).toBe(lines)
    expect(await readFile(csv, 'utf8')).toContain('9007199254740993,"{""n"":0}",[]')
    expect((await run(['query', catalog, 't', '--no-json'])).out).toMatch(/^ +1 /m)
    await run(['create', catalog, 'again', '--data', json])
    expect((await run(['query', catalog, 'again', '--json'])).out).toBe(lines)
  })

  it('keep a member that is called __proto__, at any depth', async () => {
    const lines = '{"s":{"__proto__":1,"a":2},"__proto__":[{"__proto__":{"__proto__":"x"}}]}\n'
    await run(['create', catalog, 't', '--data', await file('a.jsonl', lines)])
    expect((await run(['query', catalog, 't', '--json'])).out).toBe(lines)
  })
})

describe('columns of CSV', () => {
  it('are booleans however these are spelled', async () => {
    const csv = 'a,b,c\nTRUE,True,false\nfalse,FALSE,\n'
    const ran = await run(['create', catalog, 't', '--data', await file('a.csv', csv)])
    expect(ran.err).toBe('')
    expect((await run(['query', catalog, 't', '--json'])).out).toBe(
      '{"a":true,"b":true,"c":false}\n{"a":false,"b":false,"c":null}\n',
    )
  })

  it.each([
    ['2024-01-31T12:00:00Z', '2024-01-31 12:00:00', 'a time with a zone'],
    ['2024-01-31', '2024-01-31 12:00:00', 'a date'],
    ['2024-01-31 12:00:00', 'soon', 'a time'],
    ['TRUE', '1', 'a boolean'],
    ['true', 'maybe', 'a boolean'],
  ])('say why they are text: %s, %s', async (one, other, kind) => {
    const path = await file('a.csv', `id,at\n1,${one}\n2,${other}\n`)
    const ran = await run(['create', catalog, 't', '--data', path])
    expect(ran.code).toBe(0)
    expect(ran.err).toContain(`note: column "at" is text: it holds ${kind} (line 2 of ${path})`)
    expect((await run(['query', catalog, 't', '--json'])).out).toContain(`"at":"${other}"`)
  })

  it('say nothing where text is meant', async () => {
    const csv = 'zip,name,code\n00501,Ann,A7\n94110,2024,12\n'
    expect((await run(['create', catalog, 't', '--data', await file('a.csv', csv)])).err).toBe('')
  })
})

describe('an update', () => {
  const rows = async () => (await run(['query', catalog, 't', '--order-by', 'n', '--json'])).out

  it('takes assignments, as SQL has them', async () => {
    await run([
      'create',
      catalog,
      't',
      '--data',
      '[{"n":1,"price":2,"s":"a","a=b":0},{"n":2,"price":3,"s":"b","a=b":0}]',
    ])
    const set = ['--set', 'price = price * 2', '--set', "s='x = y'", '--set', ' `a=b` = 7 ']
    expect(await run(['update', catalog, 't', ...set, '--where', 'n = 2'])).toMatchObject({ code: 0 })
    expect(await rows()).toBe('{"n":1,"price":2,"s":"a","a=b":0}\n{"n":2,"price":6,"s":"x = y","a=b":7}\n')
    const pairs = await file('pairs.json', '[["price","0"]]')
    expect(await run(['update', catalog, 't', '--set', `@${pairs}`])).toMatchObject({ code: 0 })
    expect(await rows()).toContain('"price":0,"s":"x = y"')
  })

  it.each([
    [['--set', 'price'], 'is not an assignment'],
    [['--set', '= 2'], 'is not an assignment'],
    [['--set', 'price ='], 'is not an assignment'],
    [['--set', '[["n","1"]]', '--set', 'n = 1'], 'give it once'],
    [['--set', 'zz = 1'], 'There is no column "zz"'],
    [[], '--set is missing'],
  ])('refuses %j', async (set, why) => {
    await run(['create', catalog, 't', '--data', '[{"n":1,"price":2}]'])
    const { code, err } = await run(['update', catalog, 't', ...set])
    expect(code).toBeGreaterThan(0)
    expect(err).toContain(why)
    expect(await rows()).toBe('{"n":1,"price":2}\n')
  })
})

it('a namespace is created with its parents, where that is asked for', async () => {
  const namespaces = async () => (await run(['list-namespaces', catalog, 'a.b', '--json'])).out
  expect((await run(['create-namespace', catalog, 'a.b.c'])).err).toContain('There is no namespace a.')
  for (const _ of ['new', 'there'])
    expect(await run(['create-namespace', catalog, 'a.b.c', '--parents'])).toMatchObject({ code: 0 })
  expect(await namespaces()).toContain('"c"')
  await run(['create', catalog, 't', '--data', '[{"n":1}]'])
  expect((await run(['create-namespace', catalog, 't.x', '-p'])).err).toContain('Already')
})

it('a tag without a version says what it takes', async () => {
  await run(['create', catalog, 't', '--data', '[{"n":1}]'])
  expect((await run(['tag', catalog, 't', 'v1'])).err).toContain(
    'version is missing. Give --version, the number of one, or --at, a time such as 2026-11-01T00:00:00Z.',
  )
})
