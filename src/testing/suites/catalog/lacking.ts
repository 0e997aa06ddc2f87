import type { OperationName } from '../../../operations/index.ts'
import { type Case, rule, type Topic } from '../suite.ts'
import { type CatalogTrial, unchanged, withVersions } from './trial.ts'

/** A valid request for any operation, so that only the lacking operation can be the reason for a refusal. */
function requestFor(name: OperationName, table: string[], home: string[]): Record<string, unknown> {
  const everything = {
    id: table,
    data: [{ n: 1 }],
    predicate: 'true',
    filter: 'true',
    version: 1,
    metadata: { a: '1' },
    tag: 'a',
    name: 'a',
    ranges: [{ start_version: 1, end_version: -1 }],
    new_table_name: 'renamed',
    location: 's3://bucket/elsewhere',
    entries: [{ id: table, version: 2, manifest_path: 'm2' }],
    operations: [{ deregister_table: { id: table } }],
    actions: [{ setPropertyAction: { key: 'a', value: '1' } }],
    index_name: 'a',
  }
  if (name === 'listAllTables') return {}
  if (name === 'namespaceExists' || name === 'describeNamespace') return { id: home }
  if (name === 'registerTable' || name === 'createTable') return { ...everything, id: [...home, 'new'] }
  if (name.endsWith('Transaction')) return { ...everything, id: ['01ARZ3NDEKTSV4RRFFQ69G5FAV'] }
  return everything
}

/** One case for each lacking operation, and one that names the cases that are left out therefore. */
export function lacking(
  lacks: ReadonlySet<OperationName>,
  left: readonly Case<CatalogTrial>[],
): Topic<CatalogTrial> {
  return { name: 'what is lacking', cases: [...lacks].map((name) => refusal(name, left)) }
}

function refusal(name: OperationName, left: readonly Case<CatalogTrial>[]): Case<CatalogTrial> {
  const unjudged = left.filter(({ needs }) => needs.includes(name)).map(({ id }) => id)
  const told = unjudged.length > 0 ? ` Not judged without it: ${unjudged.join(', ')}.` : ''
  return rule(
    `lacking.${name}`,
    'document 7, status 406',
    `${name} is refused as Unsupported, and nothing of it is done.${told}`,
    [],
    async (trial) => {
      const table = await withVersions(trial, 't', 1)
      const call = trial.catalog[name] as (request: unknown) => Promise<unknown>
      await unchanged(trial, 'Unsupported', [() => call(requestFor(name, table, trial.id()))])
    },
  )
}
