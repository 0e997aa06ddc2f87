import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { freshFolder } from '../support/catalogs.ts'
import { run } from './run.ts'

it.each(['csv', 'arrow'])(
  'a command with --idempotency-key makes its change once, of rows in %s',
  async (format) => {
    const folder = await freshFolder()
    const catalog = join(folder, 'catalog')
    const [rows, others] = [join(folder, `rows.${format}`), join(folder, `others.${format}`)]
    const text = (count: number) =>
      `day,delay,price\n${Array.from({ length: count }, (_, i) => `2026-01-0${1 + (i % 9)},${i},1.50\n`).join('')}`
    for (const [path, count] of [
      [rows, 3],
      [others, 2],
    ] as const) {
      if (format === 'csv') await writeFile(path, text(count))
      else {
        await writeFile(`${path}.csv`, text(count))
        await run(['create', `${catalog}-${count}`, 't', '--data', `${path}.csv`])
        await run(['query', `${catalog}-${count}`, 't', '--output', path])
      }
    }
    await run(['create', catalog, 't', '--data', rows])
    const insert = (data: string) =>
      run(['insert', catalog, 't', '--data', data, '--idempotency-key', 'load-1', '--json'])
    const first = await insert(rows)
    expect(first).toMatchObject({ code: 0, err: '' })
    expect((await insert(rows)).out).toBe(first.out)
    expect((await run(['count', catalog, 't', '--json'])).out).toContain('6')
    const refused = await insert(others)
    expect(refused.code).not.toBe(0)
    expect(refused.err).toContain('belongs to another request')
    const help = (await run(['insert', '--help'])).out
    expect(help).toContain('--idempotency-key <key>')
    expect((await run(['describe', '--help'])).out).not.toContain('--idempotency-key')
  },
)
