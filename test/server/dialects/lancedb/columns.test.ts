import * as arrow from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeBatch } from '../../../../src/engine/arrow/batch.ts'
import { encodeArrow } from '../../../../src/engine/arrow/ipc/encode.ts'
import { encodeSchema } from '../../../../src/engine/arrow/schema.ts'
import {
  decodeArrow,
  fromJsonSchema,
  type JsonArrowField,
  type JsonArrowType,
  schemaDifference,
} from '../../../../src/engine/table/index.ts'
import { type Served, served } from './support/served.ts'

/*
 * How columns are described to LanceDB's remote client, for drawn types. `types/all-types.test.ts` asks the clients
 * themselves.
 */

const plain = ['null', 'bool', 'int8', 'int64', 'uint16', 'uint64', 'halffloat', 'float', 'double']
const texts = ['string', 'large_string', 'string_view', 'binary', 'large_binary', 'binary_view']
const times = ['date32:day', 'date64:ms', 'time32:s', 'time64:ns', 'duration:us', 'timestamp:ms:-']
const zoned = ['UTC', 'Europe/Berlin', '+05:30', '-08:00', '+0530'].map((zone) => `timestamp:us:${zone}`)
const decimals = ['decimal:32:5:2', 'decimal:64:18:3', 'decimal:128:38:-3', 'decimal:256:76:20']
const odd = ['interval:year_month', 'interval:day_time', 'interval:month_day_nano']
const dictionaries = [...texts, ...times, ...zoned, 'int64', 'double', 'decimal:128:5:2'].map(
  (of, i) => `dict:${of}:${['int8', 'uint32', 'int64'][i % 3]}:${i % 2 === 0}`,
)
const leaf: fc.Arbitrary<JsonArrowType> = fc.oneof(
  fc
    .constantFrom(...plain, ...texts, ...times, ...zoned, ...decimals, ...odd, ...dictionaries)
    .map((type) => ({ type })),
  fc.nat({ max: 4 }).map((length) => ({ type: 'fixed_size_binary', length })),
)

const field = (name: string, type: JsonArrowType, nullable = true): JsonArrowField => ({
  name,
  type,
  nullable,
})

const { type: anyType } = fc.letrec<{ type: JsonArrowType }>((tie) => {
  const inner = tie('type')
  const item = inner.map((type) => [field('item', type)])
  return {
    type: fc.oneof(
      { maxDepth: 3 },
      { arbitrary: leaf, weight: 5 },
      fc
        .tuple(fc.constantFrom('list', 'large_list', 'list_view', 'large_list_view'), item)
        .map(([type, fields]) => ({ type, fields })),
      fc
        .tuple(item, fc.integer({ min: 1, max: 3 }))
        .map(([fields, length]) => ({ type: 'fixed_size_list', fields, length })),
      fc
        .array(inner, { maxLength: 3 })
        .map((types) => ({ type: 'struct', fields: types.map((type, i) => field(`f${i}`, type)) })),
      inner.map((type) => ({
        type: 'map',
        fields: [
          field(
            'entries',
            { type: 'struct', fields: [field('key', { type: 'string' }, false), field('value', type)] },
            false,
          ),
        ],
      })),
      inner.map((type) => ({
        type: 'run_end_encoded',
        fields: [field('run_ends', { type: 'int32' }, false), field('values', type)],
      })),
      fc
        .tuple(fc.constantFrom('sparse_union:0,1', 'dense_union:0,1'), inner)
        .map(([type, of]) => ({ type, fields: [field('a', of), field('b', { type: 'int32' })] })),
    ),
  }
})

const simple: ReadonlySet<string> = new Set([
  ...['null', 'bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64'],
  ...['halffloat', 'float', 'double', 'string', 'binary', 'large_string', 'large_binary'],
  ...['date32:day', 'date64:ms', 'time32:s', 'time32:ms', 'time64:us', 'time64:ns'],
  ...['duration:s', 'duration:ms', 'duration:us', 'duration:ns'],
])

/** Whether the client reads a type, as its source (Lance 12) has it. */
function isReadByClient({ type, fields = [], length }: JsonArrowType): boolean {
  if (simple.has(type)) return true
  const [kind, ...parts] = type.split(':')
  switch (kind) {
    case 'list':
    case 'large_list':
      return fields.length === 1 && isReadByClient(fields[0]!.type)
    case 'fixed_size_list':
      return length !== undefined && isReadByClient(fields[0]!.type)
    case 'struct':
      return fields.every((child) => isReadByClient(child.type))
    case 'fixed_size_binary':
      return type === kind && length !== undefined
    case 'timestamp':
      return parts.length === 2
    case 'decimal':
      return parts.length === 3 && ['128', '256'].includes(parts[0]!)
    case 'dict':
      return parts.length === 3 && simple.has(parts[0]!) && simple.has(parts[1]!)
  }
  return false
}

/** The body of a description, or of an error. */
function told(response: Response) {
  return response.json() as Promise<{ detail: string; schema: { fields: JsonArrowField[] } }>
}

describe('columns as LanceDB’s remote client gets them', () => {
  let server: Served
  beforeAll(async () => {
    server = await served('memory', { resultBytes: 16 << 20 })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  /** A request as the client sends it, or as any other one does. */
  async function ask(path: string, body: string | Uint8Array, isLanceDb = true): Promise<Response> {
    return fetch(`${server.url}/v1/table/${path}`, {
      method: 'POST',
      headers: {
        'x-api-key': 'a-token-for-tests',
        'content-type': typeof body === 'string' ? 'application/json' : 'application/vnd.apache.arrow.stream',
        ...(isLanceDb && { 'x-lancedb-database': 'shop' }),
      },
      body: body as string,
    })
  }

  const detailed = JSON.stringify({ load_detailed_metadata: true })

  it('have types that it reads, and answers have the same ones; others are refused by name', async () => {
    let tables = 0
    const seen = { read: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(anyType, async (type) => {
        const schema = { fields: [field('id', { type: 'int64' }), field('v', type)] }
        const name = `t${tables++}`
        await server.catalog.createTable({ id: [name], schema, data: [] })
        const others = await told(await ask(`${name}/describe`, detailed, false))
        expect(others.schema.fields[1]!.type).toEqual(JSON.parse(JSON.stringify(type)))
        const described = await ask(`${name}/describe`, detailed)
        const created = await ask(`new_${name}/create/?mode=create`, encodeSchema(fromJsonSchema(schema)))
        if (described.status === 200) {
          seen.read++
          expect(created.status, await created.clone().text()).toBe(200)
          const { fields } = (await told(described)).schema
          expect(fields.every((column) => isReadByClient(column.type))).toBe(true)
          // Where the client knows a type, it gets this one.
          if (isReadByClient(type)) expect(fields[1]!.type).toEqual(JSON.parse(JSON.stringify(type)))
          const answer = await ask(`${name}/query/`, JSON.stringify({ k: 5 }))
          expect(answer.status).toBe(200)
          const table = await decodeArrow(new Uint8Array(await answer.arrayBuffer()))
          expect(schemaDifference(fromJsonSchema({ fields }), table.schema)).toBeUndefined()
        } else {
          seen.refused++
          expect(isReadByClient(type)).toBe(false)
          expect([described.status, created.status]).toEqual([406, 400])
          expect((await told(described)).detail).toMatch(
            /^Column "v[^"]*" of the table t\d+ is .*cannot read/,
          )
          expect((await told(created)).detail).toMatch(
            /^Column "v[^"]*" is .*cannot read\. Use .* instead\.$/,
          )
          expect(await server.catalog.tableExists({ id: [`new_${name}`] }).catch(() => 'none')).toBe('none')
        }
      }),
      { numRuns: 75 },
    )
    expect(Math.min(seen.read, seen.refused)).toBeGreaterThan(20)
  })

  it('cannot be added, cloned or put in place of others where it could not read them', async () => {
    const { catalog } = server
    const interval = field('v', { type: 'interval:day_time' })
    await catalog.createTable({ id: ['mine'], data: [{ id: 1n }] })
    await catalog.createTable({ id: ['theirs'], schema: { fields: [interval] }, data: [] })
    const location = (await catalog.describeTable({ id: ['theirs'] })).location
    const columns = encodeSchema(fromJsonSchema({ fields: [interval] }))
    const refusals = [
      await ask('mine/add_columns/', columns),
      await ask('mine/create/?mode=overwrite', columns),
      await ask('copy/clone', JSON.stringify({ source_location: location })),
    ]
    for (const refused of refusals) {
      expect(refused.status).toBe(400)
      expect((await told(refused)).detail).toContain('Column "v" is an interval, which')
    }
    expect((await catalog.countTableRows({ id: ['mine'] })).count).toBe(1)
    expect((await catalog.listTableVersions({ id: ['mine'] })).versions).toHaveLength(1)
    // What others may do, they may do as before.
    expect(
      (await ask('mine/add_columns/', JSON.stringify({ schema: { fields: [interval] } }), false)).status,
    ).toBe(200)
  })

  it('are laid out in answers within the bounds of every answer', async () => {
    const rows = 400
    const text = new TextEncoder().encode('x'.repeat(1 << 20))
    const values = new Uint8Array(rows * 16)
    const view = new DataView(values.buffer)
    for (let i = 0; i < rows; i++) {
      view.setInt32(i * 16, text.length, true)
      values.set(text.subarray(0, 4), i * 16 + 4)
    }
    const { fields } = fromJsonSchema({ fields: [field('v', { type: 'string_view' })] })
    const batch = makeBatch(fields[0]!.type, { length: rows, values, data: [text] })
    const [data] = [Buffer.concat(encodeArrow({ fields, metadata: null } as never, [[batch]]))]
    await server.catalog.createTable({ id: ['shared'], data })
    const all = JSON.stringify({ k: rows })
    const shared = await ask('shared/query', all, false)
    expect((await shared.arrayBuffer()).byteLength).toBeLessThan(2 << 20)
    const refused = await ask('shared/query/', all)
    expect(refused.status).toBe(400)
    expect((await told(refused)).detail).toMatch(/^The answer would take more than 16,777,216 bytes/)
    const few = await ask('shared/query/', JSON.stringify({ k: 3 }))
    const table = arrow.tableFromIPC(new Uint8Array(await few.arrayBuffer()))
    expect(table.toArray().map(({ v }) => v.length)).toEqual([1 << 20, 1 << 20, 1 << 20])
  })
})
