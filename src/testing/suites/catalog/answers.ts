import assert from 'node:assert/strict'
import type { OperationName } from '../../../catalog/operations/index.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, changeAll, versionOf, withoutContexts } from './trial.ts'

const source = 'docs/decisions/memory-state.md'

type Asked = readonly [name: OperationName, request: object]
type Call = (request: object, options?: object) => Promise<unknown>

/** Creates an entity of each kind, modifies every response, and returns the reads of these entities. */
async function reads({ catalog, id, lacks }: CatalogTrial, options: object): Promise<Asked[]> {
  const properties = { owner: 'ops' }
  const changing: readonly Asked[] = [
    ['createNamespace', { id: id('n'), properties }],
    ['declareTable', { id: id('t'), properties }],
    ['createTableVersion', { ...versionOf(id('t'), 1), metadata: properties }],
    ['createTableTag', { id: id('t'), tag: 'one', version: 1 }],
    ['createTable', { id: id('r'), data: [{ n: 1, parts: [{ a: 'x' }] }], properties }],
  ]
  for (const [name, request] of changing)
    if (!lacks.has(name)) changeAll(await (catalog[name] as Call)(request, options))
  assert.deepEqual(properties, { owner: 'ops' }, 'A change of an answer changed the request.')
  const asked: readonly Asked[] = [
    ['describeNamespace', { id: id('n') }],
    ['listNamespaces', { id: id() }],
    ['describeTable', { id: id('t') }],
    ['listTables', { id: id(), include_declared: true }],
    ['listTableVersions', { id: id('t') }],
    ['describeTableVersion', { id: id('t'), version: 1 }],
    ['listTableTags', { id: id('t') }],
    ['describeTable', { id: id('r'), load_detailed_metadata: true }],
    ['listTableVersions', { id: id('r') }],
    ['getTableStats', { id: id('r') }],
  ]
  return asked.filter(
    ([name, request]) =>
      !lacks.has(name) && ((request as { id: string[] }).id.at(-1) !== 'r' || !lacks.has('createTable')),
  )
}

async function ownAnswers(trial: CatalogTrial, options: object): Promise<void> {
  for (const [name, request] of await reads(trial, options)) {
    const ask = () => (trial.catalog[name] as Call)(request, options)
    const before = withoutContexts(await ask())
    changeAll(await ask())
    assert.deepEqual(withoutContexts(await ask()), before, `A change of an answer of ${name} stayed.`)
  }
}

const asks: readonly OperationName[] = [
  'createTableTag',
  'createTable',
  'describeNamespace',
  'describeTableVersion',
  'getTableStats',
]

/** Callers own the responses that they get. */
export const answers: Topic<CatalogTrial> = {
  name: 'answers',
  cases: [
    rule(
      'answer.own',
      source,
      'An answer is the caller’s to change, in all its parts, and nothing else changes with it.',
      asks,
      (trial: CatalogTrial) => ownAnswers(trial, {}),
    ),
    rule(
      'answer.own-inside',
      source,
      'So is an answer inside of a transaction.',
      ['beginTransaction', 'commitTransaction', 'rollbackTransaction', ...asks],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const begun = await catalog.beginTransaction({})
        const transaction = begun.transaction_id
        changeAll(begun)
        await ownAnswers(trial, { transaction })
        const inside = withoutContexts(await catalog.describeTable({ id: id('t') }, { transaction }))
        changeAll(await catalog.commitTransaction({ id: [transaction] }))
        const after = withoutContexts(await catalog.describeTable({ id: id('t') }))
        assert.deepEqual(after, inside)
      },
    ),
  ],
}
