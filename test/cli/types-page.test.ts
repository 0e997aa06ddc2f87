import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runInThisContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { sourceOf } from '../support/counts.ts'
import { limitEach } from '../support/time-limit.ts'
import { run } from './run.ts'

// Two commands of many columns, each synced.
limitEach(60)

/* The table of docs/types.md: each spelling makes the same value of the type, and the SQL finds it. */

interface Spelling {
  readonly name: string
  readonly type: { readonly type: string; readonly fields?: readonly unknown[] }
  readonly csv: string
  readonly json: string
  readonly sql: string
  readonly typescript: string
  /** Whether there is no spelling, since values come as Arrow data. */
  readonly isArrow: boolean
}

const page = await readFile(new URL('../../docs/types.md', import.meta.url), 'utf8')
const spellings = [...page.matchAll(/^\| `(\{.*?\})` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$/gm)].map(
  ([, schema, ...cells], i): Spelling => {
    const [csv, json, sql, typescript] = cells.map((cell) => cell.replace(/^`(.*)`$/, '$1')) as string[]
    const isArrow = csv === 'Arrow data only'
    const type = JSON.parse(schema!)
    return { name: `c${i}`, type, csv: csv!, json: json!, sql: sql!, typescript: typescript!, isArrow }
  },
)
const written = spellings.filter(({ isArrow }) => !isArrow)
const schema = { fields: written.map(({ name, type }) => ({ name, nullable: true, type })) }

/** The rows of all columns: one from CSV, one from JSON, and one from what was read of the first. */
async function tables() {
  const folder = await freshFolder()
  const place = join(folder, 'catalog')
  const names = written.map(({ name }) => name)
  const csv = join(folder, 'rows.csv')
  await writeFile(csv, `${names.join()}\n${written.map((one) => one.csv).join()}\n`)
  const jsonl = join(folder, 'rows.jsonl')
  await writeFile(jsonl, `{${written.map(({ name, json }) => `"${name}":${json}`).join()}}\n`)
  const made = await run(['create', place, 't', '--data', csv, '--schema', JSON.stringify(schema)])
  expect([made.code, made.err]).toEqual([0, ''])
  const inserted = await run(['insert', place, 't', '--data', jsonl])
  expect([inserted.code, inserted.err]).toEqual([0, ''])
  return openCatalog(place)
}

describe('docs/types.md', () => {
  it('each type is created, written as CSV, JSON and TypeScript, found by SQL, and read', async () => {
    await using catalog = await tables()
    const id = ['t']
    const values = Object.fromEntries(
      written.map(({ name, typescript }) => [name, runInThisContext(`(${typescript})`)]),
    )
    await catalog.insertIntoTable({ id, data: [values] })
    const found: unknown[] = []
    for await (const row of catalog.rows({ id })) found.push(row)
    expect(found).toEqual([values, values, values])
    for (const { name, sql, type } of written) {
      const predicate = sql.replace(/\bx\b/, name)
      const { count } = await catalog.countTableRows({ id, predicate })
      expect([type.type, sql, count]).toEqual([type.type, sql, 3])
    }
    const described = await catalog.describeTable({ id, load_detailed_metadata: true })
    expect(described.schema!.fields).toMatchObject(
      schema.fields.map(({ name, type }) => ({ name, type: known(type) })),
    )
  })

  it('types without a spelling can be created, and refuse row objects by their names', async () => {
    await using catalog = await openCatalog('memory:')
    for (const { name, type, isArrow, sql } of spellings) {
      if (!isArrow) continue
      const fields = [{ name: 'x', nullable: true, type }] as never
      await catalog.createTable({ id: [name], schema: { fields }, data: [] })
      expect((await catalog.countTableRows({ id: [name], predicate: sql })).count).toBe(0)
      await expect(catalog.insertIntoTable({ id: [name], data: [{ x: 1 }] })).rejects.toThrow(
        'Send Arrow data',
      )
    }
  })

  it('has all types that there are', () => {
    const source = sourceOf('src/engine/arrow/json-schema.ts')
    const plain = /const plain\b.*?= \{\n(.*?)\n\}/s.exec(source)![1]!
    const simple = [...plain.matchAll(/^ {2}'?([\w:]+)'?:/gm)].map(([, name]) => name!)
    const families = [...source.matchAll(/^ {4}case '(\w+)':/gm)].map(([, name]) => name!)
    expect([simple.length > 20, families.length > 15]).toEqual([true, true])
    const shown = spellings.map(({ type }) => type.type)
    for (const name of simple) expect(shown).toContain(name)
    for (const name of families) {
      expect(
        shown.some((one) => one === name || one.startsWith(`${name}:`)),
        name,
      ).toBe(true)
    }
    const units = ['s', 'ms', 'us', 'ns']
    for (const unit of units)
      for (const kind of ['timestamp', 'duration']) expect(shown.join()).toContain(`${kind}:${unit}`)
  })
})

/** A type as descriptions have it: a dictionary of texts in Lance's form. */
function known(type: Spelling['type']): unknown {
  return type.type === 'dictionary' ? { type: 'dict:string:int32:false' } : { type: type.type }
}
