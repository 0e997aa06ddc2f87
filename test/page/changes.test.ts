import { expect, test } from 'vitest'
import type { SubjectChange } from '../../src/base/model/subject-change.ts'
import { affectedParts } from '../../src/page/model/affected-parts.ts'
import { latestChanges } from '../../src/page/model/latest.ts'
import { startRoute } from '../../src/page/model/route.ts'

const table = (effect: SubjectChange['effect'], ...id: string[]): SubjectChange => ({
  operation: 'AnyOperation',
  kind: 'table',
  id,
  effect,
})
const namespace = (effect: SubjectChange['effect'], ...id: string[]): SubjectChange => ({
  ...table(effect, ...id),
  kind: 'namespace',
})

const flights = { view: 'table', id: ['prod', 'flights'], tab: 'rows' } as const
const prod = { view: 'namespace', id: ['prod'] } as const

test.each([
  ['rows of the open table', table('changed', 'prod', 'flights'), flights, { open: true }],
  ['rows of another table', table('changed', 'prod', 'other'), flights, {}],
  ['rows of a table, to its namespace', table('changed', 'prod', 'flights'), prod, {}],
  ['a new table', table('created', 'prod', 'new'), prod, { tables: true, open: true }],
  ['a new table elsewhere', table('created', 'test', 'new'), prod, {}],
  ['a table that leaves', { ...table('moved', 'prod', 'a'), to: ['b'] }, prod, { tables: true, open: true }],
  ['a table that comes', { ...table('moved', 'a'), to: ['prod', 'b'] }, prod, { tables: true, open: true }],
  [
    'a namespace dropped above the open table',
    namespace('removed', 'prod'),
    flights,
    { namespaces: true, tables: true, open: true },
  ],
  ['a namespace elsewhere', namespace('created', 'test'), flights, { namespaces: true }],
  ['properties of the open namespace', namespace('changed', 'prod'), prod, { open: true }],
] as const)('%s concerns what shows it', (_, change, route, concerned) => {
  const none = { namespaces: false, tables: false, open: false }
  expect(affectedParts([change], route, ['prod'])).toEqual({ ...none, ...concerned })
})

test('whatever is changed concerns the whole catalog, when that is listed', () => {
  expect(affectedParts([table('created', 'a', 'b', 'c')], startRoute, [])).toMatchObject({
    tables: true,
    open: true,
  })
  const activity = { view: 'activity' } as const
  expect(affectedParts([table('changed', 'a')], activity, [])).toMatchObject({ tables: false, open: true })
})

test('the latest changes are those heard of, then those listed, each once', () => {
  const many = Array.from({ length: 8 }, (_, i) => table('created', `t${i}`))
  const inserted: SubjectChange = { ...table('changed', 'a'), versions: [{ first: 2, last: 4 }] }
  const part: SubjectChange = { ...inserted, transaction_id: 'part' }
  const heard = [
    { timestamp_millis: 3, transaction_id: 'z', changes: many },
    { timestamp_millis: 2, transaction_id: 'y', changes: [part] },
    { timestamp_millis: 1, transaction_id: 'x', changes: [table('removed', 'b')] },
  ]
  const listed = ['z', 'y', 'part', 'x', 'v', 'w'].map((transaction_id) => ({
    transaction_id,
    operation: 'DeclareTable',
    subject: ['c'],
    created_at: '1970-01-01T00:00:00.000Z',
    // Of a large transaction, only this is known.
    ...(transaction_id !== 'w' && { changes: [inserted, table('removed', 'd')], num_changes: 9 }),
  }))
  const shown = latestChanges(heard, listed)
  expect(shown.map(({ key }) => key)).toEqual([
    'z 0',
    'z 1',
    'z 2',
    'z 3',
    'z 4',
    'y 0',
    'x 0',
    'v 0',
    'v 1',
    'w',
  ])
  expect(shown.map(({ further }) => further)).toEqual([0, 0, 0, 0, 3, 0, 0, 0, 7, 0])
  expect(shown[5]).toMatchObject({ version: 4, route: { view: 'table', id: ['a'], tab: 'versions' } })
  expect(shown[7]).toMatchObject({ version: 4, operation: 'AnyOperation', id: ['a'] })
  // A removed subject links to the transaction that removed it.
  expect(shown[6]!.route).toEqual({ view: 'activity', transaction: 'x' })
})
