import { expect, test } from 'vitest'
import { checkRequest } from '../../../src/catalog/operations/framework/check.ts'
import type { AnyOperation } from '../../../src/catalog/operations/framework/operation.ts'
import { operations } from '../../../src/catalog/operations/index.ts'
import { fieldsOf } from '../../../src/cli/fields.ts'
import { readRequest } from '../../../src/cli/request.ts'
import { eachCatalog } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'

const definitions: readonly AnyOperation[] = Object.values(operations).map(
  ({ definition }) => definition as never,
)

/** The message of what an operation refuses. */
function refusal(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was refused'
}

test('each field that must be there is named where it is missing, with what belongs there', () => {
  let missing = 0
  for (const operation of definitions) {
    const required = fieldsOf(operation as never).filter(({ required }) => required)
    // Fields are checked in their order, so those before are there.
    const given: Record<string, unknown> = {}
    for (const { name } of required) {
      const message = refusal(() => checkRequest(operation, given))
      expect(message).toMatch(/^\w+: \w+ (?:is missing\. It must be \S.*|must be \S.*)\.$/)
      expect(message).toContain(`${operation.name}: ${name} `)
      given[name] = valid[name] ?? 'x'
      missing++
    }
  }
  expect(missing).toBeGreaterThan(60)
})

/** Values that let the check go on to the next field. */
const valid: Readonly<Record<string, unknown>> = {
  id: ['a', 'b'],
  data: [{ x: 1 }],
  version: 1,
  ranges: [{ start_version: 1, end_version: 2 }],
  metadata: {},
  columns: ['x'],
  on: 'x',
  updates: [['x', '1']],
  operations: [{ declare_table: { id: ['t'] } }],
  actions: [{ setStatusAction: { status: 'CANCELED' } }],
}

test('the command line names the option that is missing, with what it takes', async () => {
  for (const operation of definitions) {
    const fields = fieldsOf(operation as never)
    for (const field of fields.filter(({ name, required }) => required && name !== 'id')) {
      const read = readRequest([field], {}, '.', {} as never)
      await expect(read).rejects.toThrow(/^--[a-z-]+ is missing: give \S/)
    }
  }
})

eachCatalog((open) => {
  test('wrong requests are told what is wrong, where, and what would be right', async () => {
    const catalog = await open()
    const id = ['t']
    await catalog.createTable({ id, data: [{ delay: 1 }] })
    const wrong: readonly [work: () => Promise<unknown>, said: string | RegExp][] = [
      [
        () => catalog.describeTable({} as never),
        'id is missing. It must be a list of names, such as ["prod"',
      ],
      [() => catalog.describeTable({ id: [1] } as never), 'describeTable: id[0] must be a string.'],
      [
        () => catalog.updateTable({ id, updates: [['delay']] } as never),
        'updates[0][1] is missing. It must be',
      ],
      [
        () => catalog.queryTable({ id, order_by: 'delay' } as never),
        'order_by must be a list of keys, such as',
      ],
      [
        () => catalog.deleteFromTable({ id, predicate: '' }),
        'Write a condition such as `delay > 60`, or `true`',
      ],
    ]
    for (const [work, said] of wrong) await fails(work(), 'InvalidInput', said)
    await fails(
      catalog.queryTable({ id, order_by: ['delay down'] }),
      'TableColumnNotFound',
      /no column "delay down"\. .*columns are "delay"\. A key of order_by is a column, then asc or desc/,
    )
  })
})
