import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import config from '../vitest.config.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))

/** The limits that tests and hooks of a source set for themselves, in milliseconds. */
function limitsIn(source: string): number[] {
  const found = [
    ...source.matchAll(/^\s*\}, ([\d_]+)\)$/gm),
    ...source.matchAll(/^\s*\w+ \* [\d_]+ \+ ([\d_]+),\n\)$/gm),
    ...source.matchAll(/\{\s*timeout: ([\d_]+)(?: \* \w+)?,?\s*\},\s*(?:async )?\(/g),
  ]
  return found.map(([, millis]) => Number(millis!.replaceAll('_', '')))
}

test('no test has less time than the others, which is enough on a machine ten times as busy', () => {
  const least = config({ mode: 'test', command: 'serve' }).test!.testTimeout!
  expect(least).toBeGreaterThanOrEqual(240_000)
  const long = ['it("x", { timeout: ', '30_000 }, async () => {\n})\nit("y", () => {\n}, ', '5_000)\n'].join(
    '',
  )
  expect(limitsIn(long)).toEqual([5_000, 30_000])
  const short = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .flatMap((name) =>
      limitsIn(readFileSync(join(folder, name), 'utf8'))
        .filter((millis) => millis < least)
        .map((millis) => `${relative('.', name)}: ${millis}`),
    )
  expect(short).toEqual([])
})
