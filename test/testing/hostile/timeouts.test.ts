import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { freshFolder } from '../../support/catalogs.ts'
import { scriptPath } from '../../support/scripts.ts'
import { limitEach } from '../../support/time-limit.ts'

// Suites run as processes of their own.
limitEach(60)

/** Runs a suite as a separate process, which must exit by itself. */
async function suite(args: readonly string[]): Promise<string> {
  const { NODE_TEST_CONTEXT: _, VITEST: __, ...env } = process.env
  const cwd = fileURLToPath(new URL('../../..', import.meta.url))
  const options = { cwd, env: { ...env, CATALOG_FOLDER: await freshFolder() }, timeout: 55_000 }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      if (error?.code === 1) resolve(stdout + stderr)
      else reject(new Error(`It ended by ${error?.signal ?? error?.code ?? 0}.\n${stdout}${stderr}`))
    })
  })
}

const expectedOf = (...kinds: string[]) =>
  kinds.flatMap((kind) =>
    [1, 2].flatMap((n) => [`not ok ${kind}: times out ${n}`, `ok ${kind}: is sound ${n}`]),
  )

it('a test of vitest that times out amid calls leaves the next one a sound catalog', async () => {
  const config = 'test/testing/hostile/timeouts/vitest.config.ts'
  const args = ['run', '--config', config, '--reporter', 'tap-flat', '--no-color']
  const out = await suite(['node_modules/vitest/vitest.mjs', ...args])
  const tests = [...out.matchAll(/^(ok|not ok) .* > ([^>\n]+) > ([^>#\n]+?)(?: #.*)?$/gm)]
  expect(
    tests.map(([, outcome, kind, name]) => `${outcome} ${kind}: ${name}`),
    out,
  ).toEqual(expectedOf('the fake', 'memory'))
  expect(out.match(/Test timed out/g)!.length, out).toBeGreaterThanOrEqual(4)
  expect(out).not.toMatch(/unhandled|close timed out|AssertionError|Cannot use/i)
})

it('a test of node:test that times out amid calls leaves the next one a sound catalog', async () => {
  const out = await suite(['--test-reporter=tap', scriptPath('test/testing/hostile/timeouts/by-node.ts')])
  let kind = ''
  const tests: string[] = []
  for (const [, heading, outcome, name] of out.matchAll(
    /^(?:# Subtest: (.*)| {4}(ok|not ok) \d+ - (.*))$/gm,
  )) {
    if (heading !== undefined) kind = heading
    else tests.push(`${outcome} ${kind}: ${name}`)
  }
  expect(tests, out).toEqual(expectedOf('the fake', 'memory', 'a directory'))
  expect(out.match(/failureType: 'testTimeoutFailure'/g), out).toHaveLength(6)
  expect(out).not.toMatch(/unhandled|uncaught|hookFailed/i)
})
