import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openCatalog } from '../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../support/catalogs.ts'
import { run } from './run.ts'

/* Rows with columns that a table does not have are refused in every format, with or without rows, and change nothing. */

const known = ['origin', 'delay']
const fields = known.map((name) => ({ name, nullable: true, type: { type: 'string' } }))
const schema = JSON.stringify({ fields })

const name = fc.oneof(
  fc.constantFrom(...known, 'origni', 'dellay', 'ORIGIN', '__proto__'),
  fc.stringMatching(/^[a-z]{1,6}$/),
)
const names = fc.uniqueArray(name, { minLength: 1, maxLength: 4 })

const formats = ['csv', 'jsonl', 'json', 'arrow', 'arrows', 'parquet'] as const

test('unknown columns are named in every format, and nothing is changed', async () => {
  const folder = await freshFolder()
  const location = join(folder, 'catalog')
  const catalog = closedAfterwards(await openCatalog(location))
  await catalog.createTable({ id: ['t'], schema: { fields }, data: [{ origin: 'SFO', delay: '5' }] } as never)
  const scratch = closedAfterwards(await openCatalog(join(folder, 'scratch')))
  await scratch.createNamespace({ id: ['made'] })
  let seen = 0
  /** A file with some columns, and so many rows of text. */
  const written = async (format: (typeof formats)[number], columns: readonly string[], rows: number) => {
    const path = join(folder, `${++seen}.${format}`)
    const row = Object.fromEntries(columns.map((column) => [column, 'x']))
    const data = Array.from({ length: rows }, () => row)
    if (format === 'csv') {
      const line = columns.map(() => 'x').join(',')
      writeFileSync(path, [columns.join(','), ...data.map(() => line), ''].join('\n'))
    } else if (format === 'jsonl' || format === 'json') {
      const lines = data.map((row) => JSON.stringify(row))
      writeFileSync(path, format === 'json' ? `[${lines}]` : lines.join('\n'))
    } else {
      const made = ['made', `t${seen}`]
      await scratch.createTable({ id: made, data: [row] })
      await run(['query', join(folder, 'scratch'), made.join('.'), '--limit', String(rows), '-o', path])
    }
    return path
  }
  let version = 1
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...formats),
      names,
      fc.integer({ min: 0, max: 2 }),
      fc.boolean(),
      async (format, columns, rows, creates) => {
        // JSON has no names without rows.
        fc.pre(rows > 0 || !format.startsWith('json'))
        // Only CSV and JSON take a schema; an object literal has no own member of this name.
        const isText = format === 'csv' || format.startsWith('json')
        fc.pre((!creates || isText) && (format === 'csv' || !columns.includes('__proto__')))
        const path = await written(format, columns, rows)
        const made = `made${seen}`
        const ran = await run(
          creates
            ? ['create', location, made, '--data', path, '--schema', schema]
            : ['insert', location, 't', '--data', path],
        )
        const unknown = columns.filter((column) => !known.includes(column))
        if (unknown.length === 0) {
          expect(ran).toMatchObject({ code: 0, err: '' })
          if (!creates) version++
        } else {
          expect(ran.code).toBeGreaterThan(0)
          for (const column of unknown) expect(ran.err).toContain(JSON.stringify(column))
          for (const column of known) expect(ran.err).toContain(JSON.stringify(column))
          expect(await catalog.tableExists({ id: [made] }).then(Boolean, () => false)).toBe(false)
        }
        const { versions } = await catalog.listTableVersions({ id: ['t'] })
        expect(versions).toHaveLength(version)
      },
    ),
    { numRuns: 40 },
  )
})

test('a header that only a misspelling, or a binary file, explains is refused with what is near', async () => {
  const folder = await freshFolder()
  const location = join(folder, 'catalog')
  const file = (name: string, text: string | Buffer) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  await run(['create', location, 't', '--data', file('ok.csv', 'origin,delay\nSFO,3\n')])
  const misspelt = await run(['insert', location, 't', '--data', file('head.csv', 'origni,delay\n')])
  expect(misspelt.code).toBe(2)
  expect(misspelt.err).toContain(
    'head.csv: Column "origni" is not in the table, which has "origin" and "delay". Did you mean "origin"?',
  )
  for (const args of [
    ['insert', location, 't'],
    ['create', location, 'new'],
  ]) {
    const ran = await run([...args, '--data', file('nul.csv', '\0\0\0\n\0\n')])
    expect(ran).toMatchObject({ code: 2, out: '' })
    expect(ran.err).toContain('nul.csv has NUL bytes in the names of its columns')
  }
  const wide = file('wide.csv', Buffer.from('\ufefforigin\nSFO\n', 'utf16le'))
  const deep = file('deep.jsonl', `{"origin":${'['.repeat(50_000)}${']'.repeat(50_000)}}`)
  for (const [data, said] of [
    [wide, 'is text in UTF-16: save it in UTF-8'],
    [deep, 'deep.jsonl nests too deep: flatten it'],
  ] as const)
    expect((await run(['insert', location, 't', '--data', data])).err).toContain(said)
  await run(['query', location, 't', '-o', join(folder, 'rows.arrow')])
  const both = ['create', location, 'new', '--data', join(folder, 'rows.arrow'), '--schema', schema]
  expect(await run(both)).toMatchObject({ code: 2, out: '' })
  expect((await run(['history', location, 't'])).out.trim().split('\n')).toHaveLength(1)
})

test('rows that name no column are refused in every text, and taken beside one that does', async () => {
  const folder = await freshFolder()
  const location = join(folder, 'catalog')
  await run(['create', location, 't', '--data', '[{"n":1}]'])
  const file = join(folder, 'rows.jsonl')
  for (const text of ['{}', '[{},{}]', '{}\n{}\n', '{\n}']) {
    writeFileSync(file, text)
    for (const [data, stdin] of [
      [text, ''],
      [file, ''],
      ['-', text],
    ] as const) {
      if (data === '{}\n{}\n') continue
      for (const args of [
        ['insert', location, 't'],
        ['create', location, 'new'],
        ['create', location, 'new', '--schema', schema],
      ]) {
        const ran = await run([...args, '--data', data], { stdin })
        expect(ran).toMatchObject({ code: 1, out: '' })
        expect(ran.err).toMatch(/The row names no column|None of the 2 rows names a column/)
      }
    }
  }
  expect((await run(['history', location, 't'])).out.trim().split('\n')).toHaveLength(1)
  expect(await run(['insert', location, 't', '--data', '[{},{"n":2},{}]'])).toMatchObject({ code: 0 })
  expect((await run(['count', location, 't'])).out.trim()).toBe('{"count":4}')
})
