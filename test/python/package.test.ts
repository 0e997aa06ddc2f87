import { execFile } from 'node:child_process'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../support/describe-with.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { pythonPrograms } from '../support/python-clients.ts'
import { scriptPath } from '../support/scripts.ts'
import { limitEach } from '../support/time-limit.ts'

// Tools in Python build, check and test the package.
limitEach(240)

/* The Python package: built as it is published, installed, and tested with real clients. */

const source = fileURLToPath(new URL('../../python', import.meta.url))
const command = `"${process.execPath}" "${scriptPath('src/cli/index.ts')}"`

describeWith('tabularium-testing', await pythonPrograms(), (programs) => {
  let folder: string
  let wheel: string
  beforeAll(async () => {
    folder = await temporaryDirectory()
    // Building leaves files behind.
    await cp(source, join(folder, 'source'), { recursive: true })
    await run('python', ['-m', 'build', '--no-isolation', '--outdir', join(folder, 'dist'), 'source'])
    wheel = (await readdir(join(folder, 'dist'))).find((name) => name.endsWith('.whl'))!
    const target = ['--no-index', '--no-deps', '--target', join(folder, 'site')]
    await run('pip', ['install', '--quiet', '--no-compile', ...target, join(folder, 'dist', wheel)])
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** Runs a program of Python, which finds the package as an installed one. */
  async function run(program: string, args: readonly string[]): Promise<string> {
    const env = {
      ...process.env,
      PYTHONPATH: join(folder, 'site'),
      PYTHONDONTWRITEBYTECODE: '1',
      TABULARIUM_COMMAND: command,
    }
    const given = { cwd: folder, env, timeout: 590_000, maxBuffer: 2 ** 26 }
    return promisify(execFile)(join(programs.bin, program), args, given).then(
      ({ stdout }) => stdout,
      (error) => {
        throw new Error(`${error.message}\n${error.stdout}`)
      },
    )
  }

  /** What pytest sums up, such as `5 passed`. */
  async function tested(...args: string[]): Promise<string> {
    const told = await run('pytest', ['-q', '-p', 'no:cacheprovider', '--rootdir', folder, ...args])
    return told.trim().split('\n').at(-1)!
  }

  it('its wheel has the modules, the plugin, the types and the license, and nothing else', async () => {
    const modules = (await readdir(join(source, 'src/tabularium_testing'))).filter((name) =>
      /\.py$|^py\.typed$/.test(name),
    )
    expect(modules).toContain('py.typed')
    const version = /^tabularium_testing-(.*)-py3-none-any\.whl$/.exec(wheel)![1]!
    const names = await readdir(join(folder, 'site'), { recursive: true, withFileTypes: true })
    const files = names.filter((entry) => entry.isFile() && !/^(INSTALLER|REQUESTED)$/.test(entry.name))
    const info = `tabularium_testing-${version}.dist-info`
    expect(
      files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 6)).sort(),
    ).toEqual(
      [
        ...modules.map((name) => `tabularium_testing/${name}`),
        ...['METADATA', 'RECORD', 'WHEEL', 'direct_url.json', 'entry_points.txt', 'licenses/LICENSE'].map(
          (name) => `${info}/${name}`,
        ),
      ].sort(),
    )
    const text = (path: string) => readFile(join(folder, 'site', path), 'utf8')
    expect(await text(`${info}/entry_points.txt`)).toBe(
      '[pytest11]\ntabularium = tabularium_testing.plugin\n',
    )
    expect(await text(`${info}/licenses/LICENSE`)).toBe(
      await readFile(new URL('../../LICENSE', import.meta.url), 'utf8'),
    )
    const { version: ours } = JSON.parse(
      await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
    )
    expect(version).toBe(ours)
  })

  it('its wheel is all that a new environment installs, and its fixture asks a real server', async ({
    skip,
  }) => {
    const bin = join(folder, 'fresh/bin')
    await promisify(execFile)('python3', ['-m', 'venv', join(folder, 'fresh')])
    const install = ['install', '--quiet', '--disable-pip-version-check', join(folder, 'dist', wheel)]
    try {
      await promisify(execFile)(join(bin, 'pip'), install, { timeout: 200_000 })
    } catch (error) {
      // It needs pytest, from the registry.
      if (/No matching distribution|NewConnectionError|timed out/.test(String(error))) skip(String(error))
      throw error
    }
    await writeFile(join(folder, 'test_fresh.py'), counting)
    const args = ['-q', '-p', 'no:cacheprovider', '--rootdir', folder, 'test_fresh.py']
    const env = { ...process.env, TABULARIUM_COMMAND: command }
    const { stdout } = await promisify(execFile)(join(bin, 'pytest'), args, { cwd: folder, env })
    expect(stdout.trim().split('\n').at(-1)).toMatch(/^1 passed in/)
  })

  it('its tests pass, with the real clients', { timeout: 600_000 }, async () => {
    expect(await tested(join(folder, 'source/tests'))).toMatch(/^\d\d passed in/)
  })

  it('its tests that start no suites pass in parallel, too', async () => {
    const files = ['lance', 'lancedb', 'seeds'].map((name) => join(folder, `source/tests/test_${name}.py`))
    expect(await tested('-n', '2', ...files)).toMatch(/^\d\d passed in/)
  })

  it('the examples of its page run', async () => {
    const page = await readFile(join(source, 'README.md'), 'utf8')
    const examples = [...page.matchAll(/^```python\n(.*?)^```$/gms)].map(([, code]) => code!)
    expect(examples.length).toBeGreaterThan(3)
    await writeFile(join(folder, 'test_page.py'), [undeclared, ...examples].join('\n'))
    const tests = examples.join('').match(/^def test_/gm)!
    expect(await tested('test_page.py')).toMatch(new RegExp(`^${tests.length} passed in`))
  })

  it('its types are checked', async () => {
    const told = await run('mypy', ['--config-file', 'source/pyproject.toml', 'source/src'])
    expect(told).toMatch(/^Success: no issues found in \d+ source files/)
  })
})

/** A test without clients of its own. */
const counting = `
def test_counts(tabularium):
    tabularium.seed({"flights": [{"delay": 75}, {"delay": 12}]})
    assert tabularium.ask("POST", "/v1/table/flights/count_rows", {"predicate": "delay > 60"}) == (200, 1)
`

/** What the examples leave to the reader. */
const undeclared = `
import lance
import pyarrow as pa
import pytest

flights, orders = pa.table({"delay": [1]}), pa.table({"id": [1, 2]})

def late_flights(db):
    return db.open_table("flights").count_rows("delay > 60")

def add_flight(db):
    db.open_table("flights").add([{"delay": 5}])
`
