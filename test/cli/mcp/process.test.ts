import { once } from 'node:events'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, it, onTestFinished } from 'vitest'
import { serve } from '../../../src/server/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { scriptPath } from '../../support/scripts.ts'
import { limitEach } from '../../support/time-limit.ts'
import { start } from '../run.ts'
import { ToolClient } from './clients.ts'

// Each connection is a process of its own.
limitEach(240)

/** A client of the command as a process, over its standard streams. */
async function started(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [scriptPath('src/cli/index.ts'), 'mcp', ...args],
    env: { ...(process.env as Record<string, string>), TABULARIUM_TOKEN: '', ...env },
    stderr: 'pipe',
  })
  let errors = ''
  transport.stderr?.on('data', (text) => {
    errors += String(text)
  })
  const tool = new ToolClient()
  await tool.client.connect(transport)
  onTestFinished(() => tool.client.close())
  return Object.assign(tool, { transport, errors: () => errors })
}

it('16 processes at once change one directory, and none fails', async () => {
  const folder = await freshFolder()
  await using catalog = await openCatalog(folder)
  await catalog.createTable({ id: ['shared'], data: [{ who: -1 }] })
  const tools = await Promise.all(Array.from({ length: 16 }, () => started([folder, '--write'])))
  await Promise.all(
    tools.map(async (tool, who) => {
      await tool.ask('create_table', { id: [`mine${who}`], data: [{ who }] })
      await tool.ask('insert_into_table', { id: ['shared'], data: [{ who }] })
      expect(await tool.ask('count_table_rows', { id: [`mine${who}`] })).toEqual({ count: 1 })
      expect(await tool.ask('commit')).toEqual({ committed_changes: 2, uncommitted_changes: 0 })
    }),
  )
  expect(await catalog.countTableRows({ id: ['shared'] })).toMatchObject({ count: 17 })
  expect((await catalog.listTables({ id: [] })).tables.length).toBe(17)
  for (const tool of tools) expect(tool.errors()).toBe('')
})

it.each(['SIGKILL', 'SIGTERM', 'the end of its input'])(
  'a connection that ends by %s leaves nothing',
  async (how) => {
    const folder = await freshFolder()
    await using catalog = await openCatalog(folder)
    await catalog.createTable({ id: ['t'], data: [{ n: 1 }] })
    const tool = await started([folder, '--write'])
    await tool.ask('insert_into_table', { id: ['t'], data: [{ n: 2 }] })
    await tool.ask('create_table', {
      id: ['u'],
      data: Array.from({ length: 5_000 }, (_, n) => ({ n, text: `row ${n}` })),
    })
    expect(await tool.ask('count_table_rows', { id: ['u'] })).toEqual({ count: 5_000 })
    const closed = new Promise<void>((resolve) => {
      tool.client.onclose = resolve
    })
    if (how.startsWith('SIG')) process.kill(tool.transport.pid!, how as NodeJS.Signals)
    else await tool.client.close()
    await closed
    expect(await catalog.countTableRows({ id: ['t'] })).toMatchObject({ count: 1 })
    expect((await catalog.listTables({ id: [] })).tables).toEqual(['t'])
    if (how !== 'SIGKILL')
      await expect
        .poll(async () => (await catalog.listTransactions({ status: ['Running'] })).transactions)
        .toEqual([])
  },
)

it('prints nothing but messages, and ends for what is none', async () => {
  const folder = await freshFolder()
  await (await openCatalog(folder)).close()
  const child = start(['mcp', folder])
  onTestFinished(() => void child.kill('SIGKILL'))
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text
  })
  child.stdin.on('error', () => {})
  child.stdin.write(
    'not json\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":2,"method":"none"}\n',
  )
  await expect.poll(() => out.split('\n').length).toBe(3)
  expect(
    out
      .split('\n')
      .slice(0, 2)
      .map((line) => JSON.parse(line))
      .sort((a, b) => a.id - b.id),
  ).toEqual([
    { jsonrpc: '2.0', id: 1, result: {} },
    expect.objectContaining({ id: 2, error: expect.objectContaining({ code: -32_601 }) }),
  ])
  // A message without an end fills no memory.
  const closed = once(child, 'close')
  for (let i = 0; i < 20 && child.exitCode === null; i++) child.stdin.write('x'.repeat(1024 * 1024))
  await closed
  expect(err).toMatch(/maximum size of 16777216 bytes/)
})

it('answers many requests at once, more than its client takes at a time, without a warning', async () => {
  const folder = await freshFolder()
  await (await openCatalog(folder)).close()
  const child = start(['mcp', folder, '--write'])
  onTestFinished(() => void child.kill('SIGKILL'))
  let [out, err] = ['', '']
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text
  })
  const requests = 60
  // One piece: no answer is taken before the last request is there.
  const lines = Array.from({ length: requests }, (_, id) => ({ jsonrpc: '2.0', id, method: 'tools/list' }))
  child.stdin.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  for await (const text of child.stdout.setEncoding('utf8')) out += text
  const answers = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: number; result: { tools: unknown[] } })
  expect(answers.map(({ id }) => id).sort((a, b) => a - b)).toEqual(lines.map(({ id }) => id))
  for (const { result } of answers) expect(result.tools.length).toBeGreaterThan(10)
  expect(err).toBe('')
})

it('works on a server, whose transactions it uses', async () => {
  const token = 'a-long-random-token'
  await using catalog = await openCatalog('memory:')
  await using server = await serve(catalog, {
    auth: { tokens: [token] },
    port: 0,
    limits: { eventLoopDelay: 0 },
  })
  const tool = await started([server.url, '--write'], { TABULARIUM_TOKEN: token })
  await tool.ask('create_table', { id: ['a'], data: [{ n: 1 }] })
  await tool.ask('create_table', { id: ['b'], data: [{ n: 1 }] })
  expect((await catalog.listTables({ id: [] })).tables).toEqual([])
  expect(await tool.ask('undo')).toEqual({ undone: 'create_table', uncommitted_changes: 1 })
  await tool.ask('commit')
  expect((await catalog.listTables({ id: [] })).tables).toEqual(['a'])
  await tool.ask('drop_table', { id: ['a'] })
  await tool.client.close()
  await expect
    .poll(async () => (await catalog.listTransactions({ status: ['Running'] })).transactions)
    .toEqual([])
  expect((await catalog.listTables({ id: [] })).tables).toEqual(['a'])
})

it('reads only, and writes nothing, unless told', async () => {
  const folder = await freshFolder()
  await (await openCatalog(folder)).close()
  const tool = await started([folder])
  expect(await tool.ask('list_tables', { id: [] })).toEqual({ tables: [] })
  expect(await tool.refused('create_namespace', { id: ['n'] })).toMatch(/--write/)
})
