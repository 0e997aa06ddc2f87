import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packedProject } from '../support/packed.ts'
import { installed } from '../support/runtimes.ts'
import { limitEach } from '../support/time-limit.ts'

// It packs the package, and installs runners.
limitEach(240)

/* The package under test runners that load modules in ways of their own, as docs/runtimes.md says to use it there. */

const run = promisify(execFile)
let project: string

beforeAll(async () => {
  project = await packedProject()
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

const body = `
  const seeded = await fakeCatalog({ seed: { prod: { users: [{ name: 'Ada' }] } } })
  expect(await seeded.fork().countTableRows({ id: ['prod', 'users'] })).toEqual({ count: 1 })
  const disk = await openCatalog(\`disk \${Math.random()}\`)
  await disk.createTable({ id: ['t'], data: [{ x: 1 }] })
  await expect(disk.describeTable({ id: ['none'] })).rejects.toBeInstanceOf(CatalogError)
  await disk.close()
`
const asModule = `
import { fakeCatalog } from 'tabularium/testing'
import { CatalogError, openCatalog } from 'tabularium'
test('a module', async () => {${body}})
`
const asCommonJs = `
test('a CommonJS file', async () => {
  const { fakeCatalog } = await import('tabularium/testing')
  const { CatalogError, openCatalog } = await import('tabularium')
  ${body}
})
`

/** A folder of tests in the project. */
function folderOf(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(project, name)
  mkdirSync(folder)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  return folder
}

test('Jest runs tests that are modules, and CommonJS tests that load it', async ({ skip }) => {
  const jest = await installed('jest@30.2.0')
  if (typeof jest === 'string') {
    console.warn(`Jest is not tried: ${jest}`)
    return skip()
  }
  const cwd = folderOf('jest', {
    'package.json': '{ "jest": { "transform": {}, "testMatch": ["**/*.test.?js"] } }',
    'module.test.mjs': asModule,
    'commonjs.test.cjs': asCommonJs,
  })
  const { stderr } = await run(
    process.execPath,
    ['--experimental-vm-modules', `${jest.folder}/jest/bin/jest.js`],
    { cwd, env: { ...process.env, NODE_OPTIONS: '' } },
  )
  expect(stderr).toContain('2 passed, 2 total')
})

test('Vitest runs tests without settings', async () => {
  const own = fileURLToPath(new URL('../../node_modules', import.meta.url))
  symlinkSync(`${own}/vitest`, join(project, 'node_modules/vitest'))
  const cwd = folderOf('vitest', {
    'package.json': '{ "type": "module" }',
    'module.test.js': `import { expect, test } from 'vitest'\n${asModule}`,
  })
  const { VITEST: _, ...others } = process.env
  const env = { ...others, NO_COLOR: '1' }
  const { stdout } = await run(process.execPath, [`${own}/vitest/vitest.mjs`, 'run', '--root', cwd], {
    cwd,
    env,
  })
  expect(stdout).toMatch(/Tests\D+1 passed/)
})
