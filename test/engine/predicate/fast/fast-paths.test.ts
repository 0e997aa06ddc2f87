import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { allFastPaths, chosenFastPaths } from '../../../../src/engine/predicate/fast/index.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { types } from '../evaluate/arbitrary.ts'
import { caseOf, selected } from '../evaluate/case.ts'

// It evaluates random predicates by each fast path.
limitEach(60)

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
  expect(() => names('texts,nonsense')).toThrow(/"nonsense", which is no fast path.*formulas/)
})

test('where the runtime forbids generated code, all together answer so', async () => {
  vi.stubGlobal('Function', function forbidden() {
    throw new EvalError('Code generation from strings disallowed for this context')
  })
  vi.resetModules()
  const { mayGenerate } = await import('../../../../src/engine/predicate/fast/generate.ts')
  const without = await import('../../../../src/engine/predicate/fast/index.ts')
  const { caseOf, selected } = await import('../evaluate/case.ts')
  expect(mayGenerate()).toBe(false)
  vi.unstubAllGlobals()
  const some = fc.shuffledSubarray([...types], { minLength: 1, maxLength: 4 }).chain(caseOf)
  fc.assert(
    fc.property(some, (given) => {
      expect(selected(given, without.allFastPaths)).toEqual(selected(given, []))
    }),
    { numRuns: 500 },
  )
})

test('the plain evaluator knows none of them', () => {
  const folder = new URL('../../../../src/engine/predicate/evaluate/', import.meta.url)
  const files = readdirSync(folder)
  expect(files).toContain('build.ts')
  for (const file of files) expect(readFileSync(new URL(file, folder), 'utf8')).not.toContain("'../fast/")
})
