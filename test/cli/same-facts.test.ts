import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { isUnsupported } from '../../src/catalog/operations/framework/operation.ts'
import { program } from '../../src/cli/main.ts'
import { definitions, kebab } from '../../src/cli/record.ts'
import { freshFolder } from '../support/catalogs.ts'
import { limitEach } from '../support/time-limit.ts'
import { lines, run } from './run.ts'
import { overHttpServer } from './server.ts'

// Every command runs twice.
limitEach(60)

/*
 * Every command prints text and JSON with the same facts: each value of the JSON is in the text. The commands run in
 * this order. Changes run on two equal catalogs, one for the text and one for the JSON.
 */

const place = 'PLACE'
const folder = 'FOLDER'
const table = [place, 'prod.flights']
const rows = '[{"origin":"SFO","delay":75,"v":[1,2]},{"origin":"OAK","delay":12,"v":[3,4]}]'

/** The arguments for each command, in order. The first word is the command. */
const script: readonly (readonly string[])[] = [
  ['create-namespace', place, 'prod', '--properties', 'owner=ann'],
  ['describe-namespace', place, 'prod'],
  ['namespace-exists', place, 'prod'],
  ['list-namespaces', place],
  ['create-table', ...table, '--data', rows],
  ['insert-into-table', ...table, '--data', rows],
  ['table-exists', ...table],
  ['describe-table', ...table, '--load-detailed-metadata'],
  ['create-table-tag', ...table, 'stable', '1'],
  ['update-table-tag', ...table, 'stable', '2'],
  ['get-table-tag-version', ...table, 'stable'],
  ['list-table-tags', ...table],
  ['create-table-branch', ...table, 'try'],
  ['list-table-branches', ...table],
  ['list-table-versions', ...table],
  ['describe-table-version', ...table, '1'],
  ['update-field-metadata', ...table, '--updates', '[{"path":"delay","metadata":{"unit":"min"}}]'],
  ['update-table-schema-metadata', ...table, '--metadata', 'a=b'],
  ['describe', ...table],
  ['schema', ...table],
  ['head', ...table, '-n', '3'],
  ['history', ...table],
  ['clone-table', place, 'prod.copy', '--source', 'prod.flights'],
  ['count-table-rows', ...table],
  ['query-table', ...table, '--order-by', 'delay desc', '--limit', '2'],
  ['table-changes', ...table, '--from', '1', '--to', 'latest', '--on', 'origin,delay'],
  ['explain-table-query-plan', ...table, '--query', '{"filter":"delay > 60"}'],
  ['get-table-stats', ...table],
  ['create-table-scalar-index', ...table, '--column', 'delay', '--index-type', 'BTREE'],
  ['create-table-index', ...table, '--column', 'origin', '--index-type', 'BTREE'],
  ['list-table-indices', ...table],
  ['describe-table-index-stats', ...table, '--index-name', 'delay_idx'],
  ['get-lsm-write-spec', ...table],
  ['drop-table-index', ...table, '--index-name', 'delay_idx'],
  ['alter-table-add-columns', ...table, '--new-columns', '[{"name":"late","expression":"delay > 60"}]'],
  ['alter-table-alter-columns', ...table, '--alterations', '[{"path":"late","rename":"is_late"}]'],
  ['alter-table-drop-columns', ...table, '--columns', 'is_late,v'],
  ['delete-from-table', ...table, '--where', 'delay < 20'],
  ['update-table', ...table, '--set', 'delay = delay + 1'],
  [
    'merge-insert-into-table',
    ...table,
    '--on',
    'origin',
    '--data',
    '[{"origin":"LAX","delay":1}]',
    '--when-not-matched-insert-all',
  ],
  ['optimize-table', ...table],
  ['restore-table', ...table, '2'],
  ['delete-table-branch', ...table, 'try'],
  ['delete-table-tag', ...table, 'stable'],
  ['batch-delete-table-versions', ...table, '--ranges', '[{"start_version":1,"end_version":2}]'],
  ['declare-table', place, 'prod.d'],
  ['create-table-version', place, 'prod.d', '--version', '1', '--manifest-path', 'm1'],
  [
    'batch-create-table-versions',
    place,
    '--entries',
    '[{"id":["prod","d"],"version":2,"manifest_path":"m2"}]',
  ],
  ['batch-commit-tables', place, '[{"declare_table":{"id":["prod","e"]}}]'],
  ['list-tables', place],
  ['list-all-tables', place],
  ['list-transactions', place, '--status', 'succeeded'],
  ['update-table-properties', place, 'prod.e', '--updates', 'owner=ada', '--removals', 'draft'],
  ['update-namespace-properties', place, 'prod', '--updates', 'owner=ada', '--removals', 'draft'],
  ['rename-table', place, 'prod.e', 'f'],
  ['deregister-table', place, 'prod.f'],
  ['drop-table', place, 'prod.d'],
  ['verify', place],
  ['vacuum', place, '--dry-run'],
  ['backup', place, `${folder}/backup`],
  ['restore', `${folder}/backup`, `${folder}/restored`],
  ['export', place, `${folder}/exported`],
  ['import', `${folder}/exported`, `${folder}/imported`],
  ['copy', place, `${folder}/copied`],
  ['drop-namespace', place, 'prod', '--behavior', 'cascade'],
  ['profile', 'add', 'prod', 'http://127.0.0.1:1', '--token-env', 'T'],
  ['profile', 'list'],
  ['profile', 'remove', 'prod'],
]

/** Commands that other tests cover, and why. */
const elsewhere: Readonly<Record<string, string>> = {
  serve: 'serves until an interrupt: below',
  open: 'serves until an interrupt: below',
  mcp: 'speaks a protocol until its input ends: mcp/',
  fake: 'serves until an interrupt: below',
  watch: 'prints until an interrupt: watch.test.ts',
  changes: 'tells tokens and times: changes.test.ts',
  completion: 'prints a script: below',
  migrate: 'needs a database: database.test.ts',
  'import-iceberg': 'needs a server of Iceberg REST: test/iceberg/remote/import.test.ts',
  'backup-lease': 'runs another command: backup-lease.test.ts',
  'fetch-table-blobs': 'needs a table of Lance: ../catalog/lance/blobs.test.ts',
  'prewarm-table-index': 'needs a table of Lance: ../catalog/lance/warm.test.ts',
  'analyze-table-query-plan': 'tells times, which differ: below',
  'list-dropped-tables': 'needs a catalog that holds dropped tables: serve.test.ts',
  'undrop-table': 'needs a catalog that holds dropped tables: serve.test.ts',
  'purge-table': 'needs a catalog that holds dropped tables: serve.test.ts',
  'register-table': 'needs content that waits: below',
  'begin-transaction': 'needs a server: below',
  'commit-transaction': 'needs a server: below',
  'rollback-transaction': 'needs a server: below',
  'describe-transaction': 'needs an id: below',
  'alter-transaction': 'needs an id: below',
}

const streams = { stdin: (async function* () {})(), stdout: { write: () => {} }, stderr: { write: () => {} } }
const root = await program({ ...streams, env: {}, version: '1', signal: new AbortController().signal })
const hidden = new Set(['__complete', ...definitions.filter(isUnsupported).map(({ name }) => kebab(name))])
const leaves = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leaves)
const commands = root.commands.filter((command) => !hidden.has(command.name()))

it('every command takes --json', () => {
  for (const command of commands.flatMap(leaves)) {
    expect(
      command.options.map(({ long }) => long),
      command.name(),
    ).toContain('--json')
  }
})

it('every command is tried', () => {
  const tried = new Set(script.map(([name]) => name))
  const names = commands.map((command) => command.name())
  const untried = names.filter((name) => !tried.has(name))
  const toAdd = untried
    .filter((name) => !Object.hasOwn(elsewhere, name))
    .map(
      (name) =>
        `test/cli/same-facts.test.ts: to script, ['${name}', ...table, …], or to elsewhere, '${name}': why`,
    )
  expect(toAdd).toEqual([])
  expect(Object.keys(elsewhere).filter((name) => !untried.includes(name))).toEqual([])
})

it('every command that is no operation is on a page', () => {
  const docs = fileURLToPath(new URL('../../docs/', import.meta.url))
  const pages = readdirSync(docs).filter((name) => name.endsWith('.md'))
  const text = pages.map((name) => readFileSync(join(docs, name), 'utf8')).join('\n')
  const ofOperations = new Set(definitions.map(({ name }) => kebab(name)))
  const toAdd = commands
    .map((command) => command.name())
    .filter((name) => !ofOperations.has(name) && !new RegExp(`(\`|\\btabularium )${name}\\b`).test(text))
    .map((name) => `docs/command-line.md, or the page it is about: what \`${name}\` is for`)
  expect(toAdd).toEqual([])
})

/** The commands that only read, and so have the same output twice. */
const reading = new Set([
  ...definitions.filter(({ changes }) => !changes).map(({ name }) => kebab(name)),
  ...['describe', 'schema', 'head', 'history', 'verify', 'vacuum'],
])

/** Text without the parts that differ between runs. */
function steady(text: string): string {
  return text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '#')
    .replace(/[\dA-HJKMNP-TV-Z]{26}/g, '#')
    .replace(/[\da-f]{8}-[\da-f-]{27}/g, '#')
    .replace(/\b1\d{9}(?:\d{3})?\b/g, '#')
    .replace(/(?:file:\/\/)?\/[\w./-]*\/(?:text|json)\b/g, '#')
    .replaceAll('\\"', '"')
}

/**
 * The values in some JSON, except whether a column may be null, which the text omits, and changes of transactions, of
 * which a cell shows the beginning.
 */
function valuesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return value === '' ? [] : [String(value)]
  return Object.entries(value).flatMap(([key, member]) =>
    (key === 'nullable' && member === true && !('column' in value)) || key === 'changes'
      ? []
      : valuesIn(member),
  )
}

async function both(
  typed: (kind: 'text' | 'json') => readonly string[],
  env: (kind: string) => Record<string, string>,
) {
  const [text, json] = await Promise.all([
    run([...typed('text'), '--no-json'], { env: env('text') }),
    run([...typed('json'), '--json'], { env: env('json') }),
  ])
  return { text, json }
}

function expectSame({ text, json }: Awaited<ReturnType<typeof both>>): void {
  expect([text.code, steady(text.err)]).toEqual([0, steady(json.err)])
  expect(json.code).toBe(0)
  const shown = steady(text.out)
  for (const value of lines(json).flatMap(valuesIn)) {
    const wanted = steady(value)
    if (wanted.length <= 79) expect(shown).toContain(wanted)
  }
}

it('every command tells the same as text and as JSON', async () => {
  const base = await freshFolder()
  const env = (kind: string) => ({ XDG_CONFIG_HOME: join(base, kind, 'config') })
  for (const line of script) {
    const typed = (kind: string) => {
      const whose = reading.has(line[0]!) ? 'json' : kind
      return line.map((word) =>
        word.replace(place, join(base, whose, 'catalog')).replace(folder, join(base, whose)),
      )
    }
    const answers = await both(typed, env)
    expect(answers.text.err, line.join(' ')).toBe('')
    expect(answers.json.out, line.join(' ')).not.toBe('')
    expectSame(answers)
  }
})

it('so do those about transactions, plans and registering', async () => {
  const base = await freshFolder()
  await writeFile(join(base, 'rows.json'), rows)
  const url = await overHttpServer()
  const ask = async (...words: string[]) => {
    const json = await run([...words, '--json'])
    expect(json.err).toBe('')
    return lines(json) as [Record<string, string>]
  }
  const same = (of: (kind: 'text' | 'json') => readonly string[]) => both(of, () => ({})).then(expectSame)
  const begun = async () => (await ask('begin-transaction', url))[0].transaction_id!
  await same(() => ['begin-transaction', url])
  const toCommit = { text: await begun(), json: await begun() }
  await same((kind) => ['commit-transaction', url, toCommit[kind]])
  const toLeave = { text: await begun(), json: await begun() }
  await same((kind) => ['rollback-transaction', url, toLeave[kind]])
  const toCancel = { text: await begun(), json: await begun() }
  await same((kind) => ['describe-transaction', url, toCancel[kind]])
  const cancel = '[{"setStatusAction":{"status":"Canceled"}}]'
  await same((kind) => ['alter-transaction', url, toCancel[kind], '--actions', cancel])
  await ask('create', url, 't', '--data', join(base, 'rows.json'))
  const plan = await run(['analyze', url, 't', '--limit', '1', '--no-json'])
  const [{ analysis }] = await ask('analyze', url, 't', '--limit', '1')
  const words = (text: string) =>
    text
      .replaceAll('\\n', ' ')
      .split(/\W*\d\S*|\s+/)
      .filter((word) => /^[A-Za-z]+$/.test(word))
  expect(words(plan.out)).toEqual(expect.arrayContaining(words(analysis!)))
  const [{ location }] = await ask('describe-table', url, 't')
  await ask('deregister', url, 't')
  const registered = await ask('register', url, 't', '--location', location!)
  await ask('deregister', url, 't')
  const again = await run(['register', url, 't', '--location', location!, '--no-json'])
  for (const value of valuesIn(registered)) expect(steady(again.out)).toContain(steady(value))
})

it('so does a script for a shell', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { out } = await run(['completion', shell])
    expect(lines(await run(['completion', shell, '--json']))).toEqual([{ shell, script: out }])
  }
})

it.each([
  [['serve', 'memory:', '--no-auth', '--port', '0']],
  [['fake']],
  [['open', 'PLACE', '--no-browser']],
])('so does %j, which serves', async (words) => {
  const catalog = await freshFolder()
  await run(['create', catalog, 't', '--data', rows])
  for (const json of [false, true]) {
    const stop = new AbortController()
    const args = words.map((word) => (word === 'PLACE' ? catalog : word))
    const done = run(json ? [...args, '--json'] : args, { signal: stop.signal, onOutput: () => stop.abort() })
    const { code, out } = await done
    expect(code).toBe(0)
    const [, url] = /^(?:\{"url":"|tabularium .* )(http:\/\/127\.0\.0\.1:\d+[^\s"]*)/.exec(out)!
    if (json) expect(JSON.parse(out)).toEqual({ url })
    else expect(out).not.toContain('Iceberg')
  }
})
