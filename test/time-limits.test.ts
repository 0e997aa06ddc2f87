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

/** What a source waits for, with a limit of its own or with that of Vitest, which is a second, in milliseconds. */
function waitsIn(source: string): number[] {
  const polls = source.matchAll(/expect\s*\.poll\([^\n]*timeout: ([\d_]+)/g)
  const others = source.matchAll(/\bvi\.wait(?:For|Until)\((?:[^\n]*timeout: ([\d_]+))?/g)
  return [...polls, ...others].map(([, millis = '1000']) => Number(millis.replaceAll('_', '')))
}

/** Where tests have a limit below the least one that is wanted. */
function shortIn(limits: (source: string) => number[], least: number): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .flatMap((name) =>
      limits(readFileSync(join(folder, name), 'utf8'))
        .filter((millis) => millis < least)
        .map((millis) => `${relative('.', name)}: ${millis}`),
    )
}

test('a test that hangs ends soon, and none has less time than the others', () => {
  const least = config({ mode: 'test', command: 'serve' }).test!.testTimeout!
  expect(least).toBe(20_000)
  const long = ['it("x", { timeout: ', '30_000 }, async () => {\n})\nit("y", () => {\n}, ', '5_000)\n'].join(
    '',
  )
  expect(limitsIn(long)).toEqual([5_000, 30_000])
  expect(shortIn(limitsIn, least)).toEqual([])
})

test('nothing that a test waits for has less time than the others', () => {
  const least = config({ mode: 'test', command: 'serve' }).test!.expect!.poll!.timeout!
  expect(least).toBe(15_000)
  const waits = [
    'await vi.',
    'waitFor(() => x)\nawait expect',
    '.poll(x, { timeout: 5',
    '_000 }).toBe(1)',
  ].join('')
  expect(waitsIn(waits)).toEqual([5_000, 1_000])
  expect(shortIn(waitsIn, least)).toEqual([])
})
