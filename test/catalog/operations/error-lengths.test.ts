import { expect, test } from 'vitest'
import { type OperationName, operations } from '../../../src/catalog/operations/index.ts'
import { CatalogError, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { Draw } from '../../support/draw.ts'
import { limitEach } from '../../support/time-limit.ts'
import { validRequest, type World } from '../../support/valid-requests.ts'

// Each operation is called some dozen times.
limitEach(60)

/** Most characters of an error. Answers, logs and terminals show the whole message. */
const maxMessage = 2_000

const world: World = {
  tables: [['t']],
  namespaces: [['other'], []],
  columns: { numbers: ['x'], texts: ['s'] },
  data: new Uint8Array(),
}

/** The ways to the texts of a request, names of members among them. */
function* textsIn(value: unknown, path: readonly (string | number)[] = []): Generator<typeof path> {
  if (typeof value === 'string') yield path
  else if (Array.isArray(value))
    for (const i of [0, 1].slice(0, value.length)) yield* textsIn(value[i], [...path, i])
  else if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array))
    for (const [name, member] of Object.entries(value).slice(0, 5)) yield* textsIn(member, [...path, name])
}

function replaced(value: unknown, [first, ...rest]: readonly (string | number)[], by: string): unknown {
  if (first === undefined) return by
  if (Array.isArray(value)) return value.map((item, i) => (i === first ? replaced(item, rest, by) : item))
  const members = value as Readonly<Record<string, unknown>>
  return { ...members, [first]: replaced(members[first], rest, by) }
}

const long = [
  'q'.repeat(20_000),
  'q.'.repeat(10_000),
  "'".repeat(20_001),
  `${'('.repeat(20_000)}`,
  'ä'.repeat(9_999),
]

test.each(Object.keys(operations) as OperationName[])('%s cuts what it repeats in an error', async (name) => {
  const draw = new Draw(1)
  const catalog = closedAfterwards(await openCatalog('memory:'))
  await catalog.createNamespace({ id: ['other'] })
  for (let attempt = 0; attempt < 3; attempt++) {
    await catalog.createTable({ id: ['t'], data: [{ x: 1, s: 'a' }], mode: 'Overwrite' })
    const request = validRequest(name, world, draw)
    for (const path of [...textsIn(request)].slice(0, 12)) {
      const given = replaced(request, path, draw.oneOf(long)) as { id: string[] }
      const call = catalog[name] as unknown as (request: object) => Promise<unknown>
      const error = await call(given).then(
        () => undefined,
        (error: unknown) => error,
      )
      if (error === undefined) continue
      expect(error).toBeInstanceOf(CatalogError)
      const { code, message } = error as CatalogError
      expect([path, code, message.length <= maxMessage || message.slice(0, 300)]).toEqual([path, code, true])
      expect(code).not.toBe('Internal')
    }
  }
})
