import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isUnsupported } from '../../src/catalog/index.ts'
import { catalogOptionChecks } from '../../src/catalog/local.ts'
import { type Field, fieldsOf } from '../../src/cli/fields.ts'
import { optionsOf } from '../../src/cli/options.ts'
import { definitions, kebab } from '../../src/cli/record.ts'
import { limitEach } from '../support/time-limit.ts'
import { run } from './run.ts'
import { overHttpServer } from './server.ts'

// It gives each command wrong fields.
limitEach(60)

/* No error of a command names a field of a request, or an option in code: it names the flag. */

const operations = definitions.filter((one) => one.command !== undefined && !isUnsupported(one))

/** Words that only requests and code have. */
const foreign = new Set([
  ...definitions.flatMap((one) => fieldsOf(one).map(({ name }) => name)).filter((name) => /_/.test(name)),
  ...Object.keys(catalogOptionChecks).filter((name) => /[A-Z]/.test(name)),
])

const values: { readonly [Kind in Field['kind']]: fc.Arbitrary<string> } = {
  text: fc.constantFrom('x', '', 'Cascade', 'append', '$', 'a b', 'delay > ', 'delay = 1'),
  number: fc.constantFrom('-7.5', '0', '1', '99', '1e9', 'x'),
  time: fc.constantFrom('1 hour ago', '2030-01-01', 'soon'),
  version: fc.constantFrom('1', '99', 'latest', 'x@1 hour ago', '-1'),
  flag: fc.constant(''),
  names: fc.constantFrom('t', 'nope', 'n.t', '.'),
  columns: fc.constantFrom('delay', 'nope', 'delay desc', 'delay,delay', '[1]', '{}'),
  words: fc.constantFrom('delay', 'nope', 'x,y', ''),
  assignments: fc.constantFrom('delay = 1', 'nope = 1', 'delay', '[["a"]]', '{"a":1}'),
  map: fc.constantFrom('a=b', '{"a":1}', '=', 'tabularium.retention.versions=0'),
  rows: fc.constantFrom('[{"delay":1}]', '[{"nope":1}]', '[]', '{}', '[1]', '[{"delay":"x"}]'),
  json: fc.constantFrom('{}', '[]', '[{}]', '1', '"x"', '[{"name":"a"}]', '{"fields":[{"name":"a"}]}', '{'),
}

const typed = fc.constantFrom(...operations).chain((operation) => {
  const fields = fieldsOf(operation).filter(({ name }) => name !== 'id' && name !== 'delimiter')
  const given = (field: Field) =>
    values[field.kind].map((value) => {
      const [option, negated] = optionsOf(field).options
      const flag = (negated !== undefined && negated.hidden === false ? negated : option)!.long!
      return field.kind === 'flag' ? [flag] : [flag, value]
    })
  const needed = fields.filter(({ required }) => required)
  const others = fields.filter(({ required }) => !required)
  return fc
    .tuple(
      fc.constantFrom('t', 'n', 'nope', '.', 'n.t'),
      fc.tuple(...needed.map(given)),
      fc
        .subarray(others, { maxLength: Math.min(3, others.length) })
        .chain((some) => fc.tuple(...some.map(given))),
    )
    .map(([id, first, more]) => ({ command: kebab(operation.name), id, options: [...first, ...more].flat() }))
})

test('errors name the flags of a command, and no fields', async () => {
  const url = await overHttpServer()
  const fill = async () => {
    await run(['create', url, 't', '--data', '[{"delay":1,"id":2}]'])
    await run(['create-namespace', url, 'n'])
    await run(['create', url, 'n.t', '--data', '[{"delay":1,"id":2}]'])
  }
  let refused = 0
  await fc.assert(
    fc.asyncProperty(typed, async ({ command, id, options }) => {
      await fill()
      const { code, err } = await run([command, url, id, ...options])
      if (code === 0) return
      refused++
      const own = new Set(options.flatMap((word) => (word.startsWith('--') ? [] : word.split(/\W+/))))
      const bare = err.replace(/"(?:[^"\\]|\\.)*"/g, '')
      const named = bare.match(/(?<![\w-])[a-z]+(?:_[a-z]+|[A-Z][a-z]+)+/g) ?? []
      expect(
        named.filter((word) => foreign.has(word) && !own.has(word)),
        err,
      ).toEqual([])
      expect(err).not.toMatch(/(?<!-)behavior Cascade/)
    }),
    { numRuns: 100 },
  )
  expect(refused).toBeGreaterThan(80)
}, 120_000)

test.each([
  [['drop-namespace', 'n'], 'or drop it with --behavior Cascade.'],
  [
    ['merge', 't', '--data', '[{"delay":1}]', '--on', 'delay'],
    '--when-matched-update-all, --when-not-matched',
  ],
  [['query', 't', '--version', '1', '--at', '1 hour ago'], 'together with --version or --tag'],
  [['query', 't', '--order-by', 'delay descending'], 'then asc or desc, then nulls first'],
  [['update', 't', '--set', 'delay = 1, id = 2'], "--set 'delay = 1' --set 'id = 2'"],
  [['create-tag', 't', '--version', '1'], 'unknown command "create-tag"'],
])('%j', async (args, told) => {
  const url = await overHttpServer()
  await run(['create', url, 't', '--data', '[{"delay":1,"id":2}]'])
  await run(['create-namespace', url, 'n'])
  await run(['create', url, 'n.t', '--data', '[{"delay":1,"id":2}]'])
  const [command, id, ...options] = args as [string, string, ...string[]]
  const ran = await run([command, url, id, ...options])
  expect(ran.code).toBeGreaterThan(0)
  expect(ran.err).toContain(told)
})
