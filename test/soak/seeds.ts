import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify, stripVTControlCharacters } from 'node:util'
import { Draw } from '../support/draw.ts'
import type { Scenario } from './scenario.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** So few that a round is short. */
const filesEach = 4
/** A search for a smaller case runs a test many times. */
const testMillis = 300_000

/** The random tests of the suite, which draw the same values in every run of it, with other seeds. */
export async function seeds(seed: number): Promise<Scenario> {
  const counts = { files: 0 }
  const files = randomTests(seed)
  return {
    counts,
    async round() {
      // By another seed each time that all have run.
      const [turn, at] = [Math.floor(counts.files / files.length), counts.files % files.length]
      const drawn = (seed + turn) % 0x7fffffff
      const some = files.slice(at, at + filesEach)
      await runTests(some, drawn)
      counts.files += some.length
    },
    async end() {},
  }
}

/** The files of the short suite that draw values, in an order of the seed: a short run meets others than the last one. */
function randomTests(seed: number): string[] {
  const draw = new Draw(seed)
  const all = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  const found = all
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name))
    .filter((path) => /^import .* from 'fast-check'$/m.test(readFileSync(join(root, path), 'utf8')))
  return found
    .toSorted()
    .map((path) => ({ path, place: draw.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ path }) => path)
}

async function runTests(files: readonly string[], seed: number): Promise<void> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--maxWorkers', '1', '--passWithNoTests', '--testTimeout', String(testMillis)]
  try {
    await promisify(execFile)(process.execPath, [...args, ...files], {
      cwd: root,
      env: { ...process.env, FC_SEED: String(seed), NO_COLOR: '1' },
      maxBuffer: 1 << 28,
    })
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    const said = stripVTControlCharacters(stderr || stdout).slice(-8_000)
    throw new Error(`FC_SEED=${seed} npx vitest run ${files.join(' ')}\n${said}`)
  }
}
