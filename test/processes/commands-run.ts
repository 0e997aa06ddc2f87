import { spawn } from 'node:child_process'
import { expect } from 'vitest'
import { serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { scriptPath } from '../support/scripts.ts'

/**
 * Runs commands in several shells at once, each in its own process, while a server writes to the same catalog. Fails
 * when a command is refused, or when a change is lost.
 */
export async function runCommands(
  directory: string,
  { shells, each }: { readonly shells: number; readonly each: number },
): Promise<{ readonly commands: number; readonly served: number }> {
  await using catalog = await openCatalog(directory)
  await using server = await serve(catalog, { port: 0, auth: false, limits: { eventLoopDelay: 0 } })
  await using remote = await openCatalog(server.url as `http://${string}`, { retries: 0 })
  let isOver = false
  let served = 0
  const serving = Array.from({ length: 4 }, async (_, n) => {
    for (; !isOver; served++) await remote.declareTable({ id: [`served ${n} ${served}`] })
  })
  const shell = async (n: number) => {
    for (let i = 0; i < each; i++) {
      await command('create-namespace', directory, `shell-${n}-${i}`)
      await command('list', directory)
    }
  }
  await Promise.all(Array.from({ length: shells }, (_, n) => shell(n))).finally(() => {
    isOver = true
  })
  await Promise.all(serving)
  const { namespaces } = await catalog.listNamespaces({ id: [], limit: 10_000 })
  const expected = Array.from(
    { length: shells * each },
    (_, k) => `shell-${k % shells}-${Math.floor(k / shells)}`,
  )
  expect(namespaces.toSorted()).toEqual(expected.toSorted())
  let count = 0
  let page_token: string | undefined
  do {
    const page = await catalog.listAllTables({ page_token, limit: 10_000 })
    count += page.tables.length
    page_token = page.page_token ?? undefined
  } while (page_token)
  expect(count).toBe(served)
  return { commands: shells * each * 2, served }
}

function command(...args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [scriptPath('src/cli/index.ts'), ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let errors = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text
    })
    child.on('error', reject)
    child.on('close', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`${args.join(' ')} ended with ${code ?? signal}: ${errors}`)),
    )
  })
}
