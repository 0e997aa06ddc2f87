import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { openApiDocument, serve } from '../../../src/server/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { temporaryDirectory } from '../../support/folders.ts'
import { schemathesis, spectral } from '../../support/openapi-tools.ts'
import { limitEach } from '../../support/time-limit.ts'
import { arrowRows } from '../support/ask.ts'

// The tools may have to be installed first.
limitEach(240)

/*
 * Tools that strangers point at an OpenAPI document: a linter reads it, and a fuzzer asks a real server by it. The
 * fuzzer holds that statuses, types and bodies of answers are as the document says, that what breaks a schema is refused,
 * and that a method which is not there is a 405.
 */

const run = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))

/** How long the fuzzer asks, and what it begins with. */
const seconds = Number(process.env.SCHEMATHESIS_SECONDS ?? 30)
const seed = process.env.SCHEMATHESIS_SEED ?? '20261120'

/** Runs a tool, and answers with what it printed where it found something. */
async function findings(
  program: string,
  options: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
) {
  try {
    await run(program, options, { cwd, env: { ...process.env, ...env }, maxBuffer: 1 << 26 })
    return ''
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    if (stdout === undefined) throw error
    return `${stdout}\n${stderr}`
  }
}

test('a linter finds nothing in the OpenAPI document', async ({ skip }) => {
  const tool = await spectral()
  if (typeof tool === 'string') {
    console.warn(`The document is not linted: ${tool}`)
    return skip()
  }
  const folder = await temporaryDirectory()
  for (const isOpen of [true, false]) {
    const file = join(folder, 'openapi.json')
    await writeFile(file, JSON.stringify(await openApiDocument('/catalog', isOpen)))
    const options = ['lint', file, '--ruleset', join(here, 'spectral.yaml'), '--fail-severity', 'hint']
    expect(await findings(tool.program, options, folder)).toBe('')
  }
})

test('a server answers a fuzzer as its OpenAPI document says', {
  timeout: 240_000 + 4_000 * seconds,
}, async ({ skip }) => {
  const tool = await schemathesis()
  if (typeof tool === 'string') {
    console.warn(`The server is not fuzzed: ${tool}`)
    return skip()
  }
  const catalog = closedAfterwards(await openCatalog('memory:'))
  const id = ['prod', 'flights']
  await catalog.createNamespace({ id: ['prod'] })
  await catalog.createTable({
    id,
    data: [
      { origin: 'SFO', delay: 75 },
      { origin: 'OAK', delay: 12 },
    ],
  })
  await catalog.createTableTag({ id, tag: 'first', version: 1 })
  const limits = { eventLoopDelay: 0 }
  const server = await serve(catalog, { port: 0, auth: false, limits, log: false })
  onTestFinished(() => server.close())
  const folder = await temporaryDirectory()
  const bodies = join(folder, 'bodies')
  await mkdir(bodies)
  const rows = arrowRows({ origin: ['JFK', 'SFO'], delay: [1, 2] })
  await writeFile(join(bodies, 'fits'), rows)
  await writeFile(join(bodies, 'other'), arrowRows({ x: [1.5] }))
  await writeFile(join(bodies, 'cut'), rows.subarray(0, rows.length >> 1))
  await writeFile(join(bodies, 'text'), 'no Arrow')
  const options = [
    ...['run', `${server.url}/openapi.json`, '--phases', 'coverage,fuzzing,stateful', '--checks', 'all'],
    // What is right in itself may still be wrong here: an id that is not that of the path, a predicate, a column.
    ...['--exclude-checks', 'positive_data_acceptance', '--warnings', 'off', '--no-color'],
    // Its answer has no end. Another test holds its events.
    ...['--exclude-path', '/v1/changes', '--seed', seed, '--max-time', String(seconds)],
    // By itself, it allows ten seconds for an answer. A machine with much other work may take longer.
    ...['--request-timeout', '60', '--max-response-time', '60'],
  ]
  const env = {
    SCHEMATHESIS_HOOKS: 'hooks',
    PYTHONPATH: here,
    PYTHONDONTWRITEBYTECODE: '1',
    ARROW_BODIES: bodies,
  }
  expect(await findings(tool.program, options, folder, env)).toBe('')
})
