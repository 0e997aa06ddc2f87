import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Table } from '@uwdata/flechette'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { plainRows, toJsonSchema } from '../../../src/engine/arrow/index.ts'
import type { JsonArrowField, JsonArrowType } from '../../../src/engine/arrow/types.ts'
import { readParquet, writeParquet } from '../../../src/engine/parquet/index.ts'
import { pythonOf } from '../../iceberg/clients/programs.ts'
import { describeWith } from '../../support/describe-with.ts'
import { limitEach } from '../../support/time-limit.ts'
import { columns, leafTypes, type Typed, tableOf, tables } from './random-tables.ts'

// Spark is started, and begins a job for each file.
limitEach(900)

const folder = mkdtempSync(join(tmpdir(), 'tabularium-spark-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const found = spawnSync('java', ['-version']).status === 0 ? await pythonOf('spark') : 'there is no java'

/** Types of columns whose values Spark reads as another type. */
const readAs = {
  uint8: 'smallint',
  uint16: 'int',
  uint32: 'bigint',
  uint64: 'decimal(20,0)',
  'timestamp:s:-': 'timestamp_ntz',
  'timestamp:ms:UTC': 'timestamp',
  'timestamp:us:Europe/Berlin': 'timestamp',
  'duration:ns': 'bigint',
  string_view: 'string',
  'dict:large_string:uint8:true': 'string',
}

/** Types that Spark does not read. It says so, but for half floats, at which it fails. */
const isRefused = ({ type }: JsonArrowType) =>
  /^(?:halffloat|time(?:32|64):|timestamp:ns:|decimal:256:)/.test(type)

const readable = leafTypes.filter(({ type }) => !isRefused(type))

interface Said {
  /** What differs. */
  readonly found: readonly string[]
  /** Files of ours that Spark does not read, and why. */
  readonly refused: Readonly<Record<string, string>>
  /** How many it read. */
  readonly read: number
  /** The types that it has for the columns of the file of every type. */
  readonly types: readonly string[]
}

describeWith('Parquet of Spark', found, ({ python }) => {
  const refused = new Map<string, string>()
  let given = 0
  let said: Said

  /** Writes a file of ours, with the rows that Spark must find in it. */
  async function ours(name: string, table: Table, options: Parameters<typeof writeParquet>[1]) {
    await writeFile(join(folder, 'ours', `${name}.parquet`), writeParquet([table], options))
    const read = table.schema.fields.map(({ name }, i) => [name, textOf(typesOf(table)[i]!)] as const)
    const rows = [...plainRows(table)].map((row) => read.map(([name, text]) => text(row[name])))
    await writeFile(join(folder, 'ours', `${name}.json`), JSON.stringify(rows))
    given++
  }

  beforeAll(async () => {
    await mkdir(join(folder, 'ours'))
    const compression = ['snappy', 'gzip', 'none'] as const
    const random = (runs: number, rows: number, depth: number) =>
      fc.sample(tables(columns(readable, depth), rows), { numRuns: runs })
    for (const [i, table] of [...random(16, 12, 3), ...random(3, 300, 0)].entries()) {
      const options = { groupRows: 1 + ((i * 37) % 90), compression: compression[i % 3] }
      await ours(`random-${i}`, await tableOf(table), options)
    }
    await ours('every', await tableOfLeaves(readable), { groupRows: 15 })
    for (const leaf of leafTypes.filter(({ type }) => isRefused(type))) {
      const name = `refused-${refused.size}`
      refused.set(name, leaf.type.type)
      await ours(name, await tableOfLeaves([leaf]), {})
    }
    const script = fileURLToPath(new URL('spark.py', import.meta.url))
    const seed = process.env.FC_SEED ?? '20261120'
    const { stdout } = await promisify(execFile)(python, [script, folder, seed], {
      maxBuffer: 1 << 26,
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    })
    said = JSON.parse(stdout.trim().split('\n').at(-1)!)
  })

  it('is given our files, and reads their values, but types that it does not have', () => {
    expect(said.found).toEqual([])
    const types = (names: Iterable<string>) => [...names].map((name) => refused.get(name) ?? name).sort()
    expect(types(Object.keys(said.refused))).toEqual(types(refused.keys()))
    for (const why of Object.values(said.refused))
      expect(why).toMatch(/Illegal Parquet type|exceeds max precision|NullPointerException/)
    expect(said.read + refused.size).toBe(given)
    expect(Object.fromEntries(readable.map(({ type }, i) => [type.type, said.types[i]]))).toMatchObject(
      readAs,
    )
  })

  it('is read as Spark means it, in all forms that it writes', async () => {
    const names = readdirSync(join(folder, 'spark')).filter((name) => name.endsWith('.parquet'))
    expect(names).toHaveLength(24)
    for (const name of names) {
      const wanted = JSON.parse(
        await readFile(join(folder, 'spark', name.replace(/parquet$/, 'json')), 'utf8'),
      )
      const [part, ...more] = readdirSync(join(folder, 'spark', name)).filter((file) => /^part-/.test(file))
      expect(more).toEqual([])
      const rows: unknown[] = []
      for await (const read of readParquet(join(folder, 'spark', name, part!), { batchRows: 150 })) {
        const table = read as Table
        const fields = typesOf(table)
        expect({ name, types: fields.map(fieldText) }).toEqual({ name, types: wanted.types })
        const texts = table.schema.fields.map(({ name }, i) => [name, textOf(fields[i]!)] as const)
        for (const row of plainRows(table)) rows.push(texts.map(([name, text]) => text(row[name])))
      }
      expect({ name, rows }).toEqual({ name, rows: wanted.rows })
    }
  })
})

/** A column of each type, with nulls. */
function tableOfLeaves(leaves: readonly Typed[]): Promise<Table> {
  const fields = leaves.map(({ type }, i) => ({ name: `c${i}`, type, nullable: true }))
  const values = leaves.map(({ values }) => fc.sample(fc.option(values, { freq: 4 }), { numRuns: 40 }))
  const rows = Array.from({ length: 40 }, (_, row) =>
    Object.fromEntries(fields.map(({ name }, i) => [name, values[i]![row]])),
  )
  return tableOf({ schema: { fields }, rows })
}

function typesOf(table: Table): readonly JsonArrowField[] {
  return toJsonSchema(table.schema).fields
}

/** A field as spark.py writes it. */
function fieldText({ name, type, nullable }: JsonArrowField): string {
  const [kind, fields = []] = [type.type, type.fields]
  const inner = kind === 'map' ? fields[0]!.type.fields! : fields
  return `${name} ${kind}${inner.length > 0 ? `<${inner.map(fieldText).join(', ')}>` : ''}${nullable ? '' : ' not null'}`
}

type ToText = (value: unknown) => unknown

/** Values as `plain` of spark.py writes them: numbers as text without zeros at the end, floats by their bits, times in microseconds. */
function textOf({ type }: Pick<JsonArrowField, 'type'>): ToText {
  const text = textOfSome(type)
  return (value) => (value === null || value === undefined ? null : text(value))
}

function textOfSome(type: JsonArrowType): ToText {
  const [kind = '', unit = ''] = type.type.split(':')
  const fields = type.fields ?? []
  switch (kind) {
    case 'dict':
      return textOf({ type: { type: type.type.replace(/^dict:(.+):u?int\d+:\w+$/, '$1') } })
    case 'float':
    case 'double':
      return (value) => (Number.isNaN(value) ? 'NaN' : bitsOf(value as number))
    case 'binary':
    case 'large_binary':
    case 'binary_view':
    case 'fixed_size_binary':
      return (value) => Buffer.from(value as Uint8Array).toString('hex')
    case 'decimal':
      return (value) =>
        String(value)
          .replace(/(\.\d*?)0+$/, '$1')
          .replace(/\.$/, '')
    case 'date32':
      return (value) => (value as Date).toISOString().slice(0, 10)
    case 'timestamp':
      return (value) =>
        String(value instanceof Date ? BigInt(value.getTime()) * 1_000n : micros(value as bigint, unit))
    case 'struct': {
      const members = fields.map((field) => [field.name, textOf(field)] as const)
      return (value) => members.map(([name, text]) => text((value as Record<string, unknown>)[name]))
    }
    case 'map': {
      const [key, item] = fields[0]!.type.fields!.map(textOf)
      const order = (pair: readonly unknown[]) => Buffer.from(JSON.stringify(pair[0]))
      return (value) =>
        Array.from(value as Map<unknown, unknown>, ([name, member]) => [key!(name), item!(member)]).sort(
          (a, b) => Buffer.compare(order(a), order(b)),
        )
    }
    default: {
      if (fields.length > 0) return (value) => Array.from(value as Iterable<unknown>, textOf(fields[0]!))
      return (value) => (typeof value === 'boolean' ? value : String(value))
    }
  }
}

function micros(value: bigint, unit: string): bigint {
  return unit === 'ns' ? value / 1_000n : value
}

function bitsOf(value: number): string {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return bytes.toString('hex')
}
