import * as v from 'valibot'
import { expect, test } from 'vitest'
import { type OperationName, operations } from '../../src/catalog/operations/index.ts'
import { Draw } from './draw.ts'
import { validRequest, type World } from './valid-requests.ts'

const world: World = {
  tables: [['t']],
  namespaces: [['n'], []],
  columns: { numbers: ['x'], texts: ['s'] },
  data: new Uint8Array(8),
}

test.each(Object.keys(operations) as OperationName[])('%s has valid requests that differ', (name) => {
  const draw = new Draw(20_261_120)
  const drawn = Array.from({ length: 12 }, () => validRequest(name, world, draw))
  for (const request of drawn)
    expect(v.safeParse(operations[name].definition.request, request).success).toBe(true)
  // Requests without their own fields have only the id.
  const fields = Object.keys((operations[name].definition.request as { entries?: object }).entries ?? {})
  if (fields.length > 3) expect(new Set(drawn.map((one) => JSON.stringify(one))).size).toBeGreaterThan(1)
})
