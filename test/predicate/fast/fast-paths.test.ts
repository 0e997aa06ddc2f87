import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { allFastPaths, chosenFastPaths } from '../../../src/predicate/fast/index.ts'
import { types } from '../evaluate/arbitrary.ts'
import { caseOf, selected } from '../evaluate/case.ts'

const some = fc.shuffledSubarray([...types], { minLength: 1, maxLength: 4 }).chain(caseOf)

describe('each fast path alone answers as the plain evaluator', () => {
  test.each(allFastPaths.map((path) => [path.name, path] as const))('%s', (_, path) => {
    fc.assert(
      fc.property(some, (given) => {
        expect(selected(given, [path])).toEqual(selected(given, []))
      }),
      { numRuns: 150 },
    )
  })
})

test('and so do all but one, whichever it is', () => {
  fc.assert(
    fc.property(some, fc.constantFrom(...allFastPaths), (given, without) => {
      const others = allFastPaths.filter((path) => path !== without)
      expect(selected(given, others)).toEqual(selected(given, []))
    }),
    { numRuns: 300 },
  )
})

test('a setting leaves none, some or all of them on', () => {
  const names = (setting?: string) => chosenFastPaths(setting).map((path) => path.name)
  expect(names()).toEqual(allFastPaths.map((path) => path.name))
  expect(names('')).toEqual(names())
  expect(names('off')).toEqual([])
  expect(names('texts, dictionary')).toEqual(['dictionary', 'texts'])
  expect(() => names('texts,nonsense')).toThrow(/"nonsense", which is no fast path.*fused-arithmetic/)
})

test('where code cannot be generated, loops that are written take over', { timeout: 60_000 }, () => {
  const program = `
    import { float64, tableFromArrays } from '@uwdata/flechette'
    import { compilePredicate } from './src/predicate/index.ts'
    try { new Function('') ; process.exit(3) } catch {}
    const t = tableFromArrays({ x: Array.from({ length: 100 }, (_, i) => i), t: Array.from({ length: 100 }, (_, i) => 'row' + i) })
    const rows = { length: 100, columns: t.children.map((column) => column.data[0]) }
    for (const text of process.argv.slice(1)) console.log(compilePredicate(text, t.schema).count(rows, 0, 100))`
  const predicates = [
    'x * 2 + 1 > 100',
    'abs(x * 0.5) < 10',
    "t LIKE 'row_'",
    "t IN ('row7', 'row77')",
    'x > 7',
  ]
  const flags = [
    '--disallow-code-generation-from-strings',
    '--import',
    'tsx',
    '--input-type=module',
    '-e',
    program,
  ]
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, ...predicates], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(stdout.trim().split('\n').map(Number)).toEqual([50, 20, 10, 2, 92])
})

test('the plain evaluator knows none of them', () => {
  const folder = new URL('../../../src/predicate/evaluate/', import.meta.url)
  const files = readdirSync(folder)
  expect(files).toContain('build.ts')
  for (const file of files) expect(readFileSync(new URL(file, folder), 'utf8')).not.toContain("'../fast/")
})
