import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { packedProject } from '../support/packed.ts'
import { limitEach } from '../support/time-limit.ts'

// It installs the package.
limitEach(240)

/* What `npm install` brings: from the registry, into a folder that has nothing. */

const run = promisify(execFile)

test('npm install warns of no engine, and brings as little as docs/runtimes.md says', async ({ skip }) => {
  const page = await readFile(new URL('../../docs/runtimes.md', import.meta.url), 'utf8')
  const [, packages, size] = /installs (\d+) packages, (\d+) MB/.exec(page)!.map(Number)
  const project = await packedProject()
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-installed-'))
  await writeFile(join(folder, 'package.json'), '{}')
  const archive = join(project, 'source', `tabularium-${await version()}.tgz`)
  try {
    const { stderr } = await run('npm', ['install', '--no-audit', '--no-fund', archive], { cwd: folder })
    expect(stderr).not.toMatch(/EBADENGINE|deprecated|ERESOLVE|peer/i)
    const lock = JSON.parse(await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8'))
    expect(Object.keys(lock.packages).length).toBeLessThanOrEqual(packages!)
    expect(await bytesIn(join(folder, 'node_modules'))).toBeLessThanOrEqual(size! * 1_000_000)
    const program = `
      import { openCatalog } from 'tabularium'
      const catalog = await openCatalog('./catalog')
      await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
      console.log((await catalog.countTableRows({ id: ['t'] })).count)
      await catalog.close()`
    await writeFile(join(folder, 'try.mjs'), program)
    expect(await unused(join(folder, 'node_modules/tabularium'))).toEqual([])
    expect((await run(process.execPath, ['try.mjs'], { cwd: folder })).stdout).toBe('1\n')
  } catch (error) {
    if (!/E(TIMEDOUT|AI_AGAIN|NOTFOUND|CONNREFUSED|CONNRESET)|network/.test(String(error))) throw error
    console.warn('npm install is not tried: the registry cannot be reached.')
    skip()
  } finally {
    await rm(folder, { recursive: true, force: true })
    await rm(project, { recursive: true, force: true })
  }
})

/** The packages that are installed, and that neither the code nor the types of the package name. */
async function unused(folder: string): Promise<string[]> {
  const { dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const files = (await readdir(join(folder, 'dist'), { recursive: true })).filter((name) =>
    /\.(?:js|d\.ts)$/.test(name),
  )
  const texts = await Promise.all(files.map((name) => readFile(join(folder, 'dist', name), 'utf8')))
  return Object.keys(dependencies).filter((name) => !texts.some((text) => text.includes(`"${name}"`)))
}

async function version(): Promise<string> {
  return JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')).version
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const sizes = files
    .filter((file) => file.isFile())
    .map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
