import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, tablesIn, unchanged } from './trial.ts'

const odd = [
  '__proto__',
  'constructor',
  '.',
  '..',
  'a/b',
  'a\\b',
  ' ',
  'x + y',
  '%2F',
  '?',
  '#',
  'null',
  '0',
  'é',
  '\u{1F6EB}',
  '\uffff',
  'x'.repeat(255),
  '\u{1F6EB}'.repeat(63),
]

const bad = ['', 'x'.repeat(256), 'é'.repeat(128), 'a\0b', 'a\nb', '\x7f', '\ud83d', 'a$b', '$']

export const names: Topic<CatalogTrial> = {
  name: 'names',
  cases: [
    rule(
      'name.odd',
      'decision: names',
      'Any name of 1 to 255 bytes of UTF-8 without control characters and `$` simply works.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        for (const name of odd) {
          await catalog.declareTable({ id: id(name), properties: { for: name } })
          await catalog.createNamespace({ id: id(`in ${name}`.slice(0, 200).toWellFormed()) })
        }
        assert.deepEqual(
          (await tablesIn(trial)).map(([name]) => name),
          odd.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
        )
        for (const name of odd) {
          assert.deepEqual((await catalog.describeTable({ id: id(name) })).properties, { for: name })
        }
      },
    ),
    rule(
      'name.refused',
      'decision: names',
      'A name that is empty, too long, not well-formed, or holds control characters or `$` is refused as InvalidInput.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await unchanged(
          trial,
          'InvalidInput',
          bad.flatMap((name) => [
            () => catalog.declareTable({ id: id(name) }),
            () => catalog.createNamespace({ id: id(name) }),
            () => catalog.describeTable({ id: id(name) }),
          ]),
        )
      },
    ),
    rule(
      'name.as-given',
      'decision: names',
      'Names are compared as given: another case, or another Unicode form, is another name.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const alike = ['Flights', 'flights', 'é', 'e\u0301']
        for (const name of alike) await catalog.declareTable({ id: id(name), properties: { for: name } })
        for (const name of alike) {
          assert.deepEqual((await catalog.describeTable({ id: id(name) })).properties, { for: name })
        }
        await refused(catalog.describeTable({ id: id('FLIGHTS') }), 'TableNotFound')
        assert.equal((await tablesIn(trial)).length, alike.length)
      },
    ),
    rule(
      'name.shared',
      'decision: names',
      'Tables and namespaces of one parent share their names.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createNamespace({ id: id('n') })
        await catalog.declareTable({ id: id('t') })
        await unchanged(trial, 'TableAlreadyExists', [() => catalog.declareTable({ id: id('n') })])
        await unchanged(trial, 'NamespaceAlreadyExists', [() => catalog.createNamespace({ id: id('t') })])
        await refused(catalog.describeTable({ id: id('n') }), 'TableNotFound')
        await refused(catalog.listTables({ id: id('t') }), 'NamespaceNotFound')
      },
    ),
    rule(
      'name.depth',
      'decision: names',
      'Identifiers go 32 names deep; a longer one is refused as InvalidInput.',
      [],
      async ({ catalog, home }: CatalogTrial) => {
        const path = [...home]
        for (let depth = path.length; depth < 31; depth++) {
          path.push('n')
          await catalog.createNamespace({ id: [...path] })
        }
        await catalog.declareTable({ id: [...path, 't'] })
        await refused(catalog.declareTable({ id: [...path, 'n', 't'] }), 'InvalidInput')
        await refused(catalog.describeTable({ id: [...path, 'n', 't'] }), 'InvalidInput')
      },
    ),
    rule(
      'name.no-table-root',
      'decision: root',
      'The root is no table: operations on tables refuse it as InvalidInput.',
      [],
      async ({ catalog }: CatalogTrial) => {
        await refused(catalog.declareTable({ id: [] }), 'InvalidInput')
        await refused(catalog.describeTable({ id: [] }), 'InvalidInput')
      },
    ),
  ],
}
