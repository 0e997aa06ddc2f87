import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { connect } from '../../src/client/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { fails } from '../support/refusals.ts'
import { lines, run } from './run.ts'

test('changes prints what was committed since a token, as JSON or for people', async () => {
  const folder = await freshFolder()
  let since: string
  {
    await using catalog = await openCatalog(folder)
    since = await catalog.watch().token()
    await catalog.createNamespace({ id: ['prod'] })
    await catalog.createTable({ id: ['prod', 't'], data: [{ x: 1 }], context: { principal: 'ada' } })
    await catalog.renameTable({ id: ['prod', 't'], new_table_name: 'u\u001b[2J' }).catch(() => {})
    await catalog.createTableTag({ id: ['prod', 't'], tag: 'first', version: 1 })
  }
  const args = ['changes', folder, 'prod.t', '--since', since, '--no-follow']
  const printed = lines(await run(args)) as { changes: { operation: string }[] }[]
  expect(printed.map(({ changes }) => changes[0]!.operation)).toEqual([
    'CreateNamespace',
    'CreateTable',
    'CreateTableTag',
  ])
  const { code, out } = await run([...args, '--no-json'])
  expect(code).toBe(0)
  expect(out.replace(/^\S+/gm, 'time')).toBe(
    'time  CreateNamespace  prod\ntime  CreateTable  prod.t  version 1  by ada\ntime  CreateTableTag  prod.t  tag first on 1\n',
  )
  expect((await run(['changes', folder, '--no-follow'])).out).toBe('')
  const wrong = await run(['changes', folder, '--since', 'x'])
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringMatching(/no token of the change feed/)])
})

test('serve --audit writes who changed what and who was refused, and changes follows the server', async () => {
  const folder = await freshFolder()
  const audit = join(folder, 'audit.jsonl')
  const token = 'correct-horse-battery'
  const stop = new AbortController()
  const url = await new Promise<string>((resolve, reject) => {
    const io = {
      stdin: (async function* () {})(),
      stdout: { write: (text: string | Uint8Array) => resolve(String(text).trim().split(' ').at(-1)!) },
      stderr: { write: (text: string | Uint8Array) => reject(new Error(String(text))) },
      env: {},
      version: '1.2.3',
      signal: stop.signal,
    }
    const served = main(
      ['serve', 'memory:', '--port', '0', '--token', token, '--audit', audit, '--audit-failure', 'refuse'],
      io,
    )
    onTestFinished(async () => {
      stop.abort()
      await served
    })
  })
  const follow = new AbortController()
  const following = run(['changes', url, '--json', '--token', token], {
    signal: follow.signal,
  })
  await using client = connect(url, { token })
  await using stranger = connect(url, { token: 'a-token-of-nobody-at-all' })
  await fails(() => stranger.listTables({ id: [] }), 'Unauthenticated')
  await client.declareTable({ id: ['a'] })
  const written = async () => readFile(audit, 'utf8')
  await expect.poll(written).toMatch(/"event":"change".*"principal":"token-1".*"request_id":".*DeclareTable/)
  expect(await written()).toMatch(/"event":"refused".*"operation":"listTables","status":401/)
  expect(await written()).not.toMatch(/battery|nobody/)
  follow.abort()
  const { code, err } = await following
  expect([code, err]).toEqual([0, ''])
  expect((await run(['serve', 'memory:', '--no-auth', '--audit-failure', 'refuse'])).err).toMatch(
    /needs --audit/,
  )
})
