import { appendFile, open, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { AuditFile, AuditLog } from '../../src/cli/audit-log.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../support/catalogs.ts'
import { fails } from '../support/refusals.ts'

type Line = Readonly<Record<string, unknown>>

const linesOf = async (path: string): Promise<Line[]> =>
  (await readFile(path, 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)

const changed = (lines: readonly Line[]) =>
  lines
    .filter(({ event }) => event === 'change')
    .map(({ changes }) => (changes as { id: string[] }[])[0]!.id[0])

async function place() {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  const path = join(await freshFolder(), 'audit.jsonl')
  const said: string[] = []
  const open = () => AuditLog.open(catalog, path, (message) => said.push(message))
  return { catalog, path, said, open }
}

test('an audit log has a line for each change, with who asked for it, and only its owner reads it', async () => {
  const { catalog, path, open } = await place()
  const log = await open()
  await catalog.declareTable({ id: ['a'], context: { principal: 'ada' } })
  log.refused({
    requestId: 'r1',
    method: 'POST',
    path: '/v1/table/a/drop',
    remoteAddress: '10.0.0.1',
    principal: 'bob',
    operation: 'dropTable',
    status: 403,
  })
  await log.close()
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  const [opened, ...lines] = await linesOf(path)
  expect(opened).toMatchObject({ event: 'opened' })
  expect(lines.find(({ event }) => event === 'change')).toMatchObject({
    principal: 'ada',
    transaction_id: expect.any(String),
    changes: [{ operation: 'DeclareTable', id: ['a'] }],
    token: expect.any(String),
  })
  expect(lines.find(({ event }) => event === 'refused')).toMatchObject({
    request_id: 'r1',
    principal: 'bob',
    operation: 'dropTable',
    status: 403,
  })
})

test('it goes on where it ended, with what was changed meanwhile, and cuts off half a line', async () => {
  const { catalog, path, open } = await place()
  await catalog.declareTable({ id: ['before'] })
  let log = await open()
  await catalog.declareTable({ id: ['a'] })
  await log.close()
  await catalog.declareTable({ id: ['b'] })
  await appendFile(path, '{"time":"2026-01-01T00:00:00.000Z","event":"cha')
  log = await open()
  await catalog.declareTable({ id: ['c'] })
  await log.close()
  expect(changed(await linesOf(path))).toEqual(['a', 'b', 'c'])
})

test('it goes on in a new file after a rotation, and knows its place even if nothing follows', async () => {
  const { catalog, path, open } = await place()
  let log = await open()
  await catalog.declareTable({ id: ['a'] })
  await expect.poll(async () => changed(await linesOf(path))).toEqual(['a'])
  await rename(path, `${path}.1`)
  log.reopen()
  await log.close()
  await catalog.declareTable({ id: ['b'] })
  log = await open()
  await log.close()
  expect(changed(await linesOf(`${path}.1`))).toEqual(['a'])
  expect(changed(await linesOf(path))).toEqual(['b'])
})

test('it tells of changes that are gone', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:', { transactionCount: 10 }))
  const path = join(await freshFolder(), 'audit.jsonl')
  const said: string[] = []
  const log = await AuditLog.open(catalog, path, () => {})
  await catalog.declareTable({ id: ['a'] })
  await log.close()
  for (let i = 0; i < 60; i++) await catalog.declareTable({ id: [`t${i}`] })
  const [{ token }] = (await linesOf(path)).slice(-1) as [{ token: string }]
  await expect
    .poll(() =>
      catalog
        .watch({ since: token })
        .next()
        .then(
          () => 'there',
          () => 'gone',
        ),
    )
    .toBe('gone')
  const again = await AuditLog.open(catalog, path, (message) => said.push(message))
  onTestFinished(() => again.close())
  await expect.poll(async () => (await linesOf(path)).some(({ event }) => event === 'gap')).toBe(true)
  expect(said.join()).toMatch(/cannot read changes/)
})

test('it refuses a file that cannot be opened, or not written from the beginning', async () => {
  const { catalog, path, open } = await place()
  await fails(() => AuditLog.open(catalog, join(path, 'x'), () => {}), 'InvalidInput', /audit log/)
  fullDisk(1)
  await fails(open, 'ServiceUnavailable', /Make room/)
})

/** Lets the next writes fail, with half a line on disk. */
function fullDisk(times: number) {
  const append = vi.spyOn(AuditFile.prototype, 'append')
  for (let i = 0; i < times; i++)
    append.mockRejectedValueOnce(
      Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }),
    )
  onTestFinished(() => append.mockRestore())
}

test('while a disk is full, changes wait, it tells so once, and nothing is lost or doubled', async () => {
  const { catalog, path, said, open } = await place()
  const log = await open()
  fullDisk(2)
  await catalog.declareTable({ id: ['a'] })
  await expect.poll(() => log.isBroken).toBe(true)
  await catalog.declareTable({ id: ['b'] })
  await expect.poll(() => log.isBroken).toBe(false)
  await log.close()
  expect(changed(await linesOf(path))).toEqual(['a', 'b'])
  expect(said).toEqual([expect.stringMatching(/cannot be written: ENOSPC/)])
})

test('when a write fails, only the lines of that write are removed, not those of another server', async () => {
  const path = join(await freshFolder(), 'audit.jsonl')
  const { file } = await AuditFile.open(path)
  const { file: other } = await AuditFile.open(path)
  await other.append('of the other server\n')
  const handle = await open(path)
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'datasync').mockRejectedValueOnce(new Error('EIO'))
  onTestFinished(() => sync.mockRestore())
  await expect(file.append('of this one\n')).rejects.toThrow('EIO')
  for (const opened of [file, other, handle]) await opened.close()
  expect(await readFile(path, 'utf8')).toBe('of the other server\n')
})
