import { readdirSync, readFileSync } from 'node:fs'
import {
  dictionary,
  type Field,
  field,
  float64,
  int32,
  list as listOf,
  timestamp,
  utf8,
} from '@uwdata/flechette'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { evaluator } from '../../../../src/engine/predicate/evaluate/index.ts'
import { chosenKernels, kernels } from '../../../../src/engine/predicate/kernels/index.ts'
import { planPredicate } from '../../../../src/engine/predicate/plan/filter.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { types } from '../evaluate/arbitrary.ts'
import { caseOf, selected } from '../evaluate/case.ts'

// It evaluates random predicates by each kernel.
limitEach(60)

const some = fc.shuffledSubarray([...types], { minLength: 1, maxLength: 4 }).chain(caseOf)

describe('each kernel alone answers as the plain evaluator', () => {
  test.each(kernels.map((kernel) => [kernel.name, kernel] as const))('%s', (_, kernel) => {
    fc.assert(
      fc.property(some, (given) => {
        expect(selected(given, [kernel])).toEqual(selected(given, []))
      }),
      { numRuns: 150 },
    )
  })
})

test('each is chosen for its example', () => {
  const types = {
    a: int32(),
    x: float64(),
    name: utf8(),
    time: timestamp(),
    tags: listOf(field('item', int32())),
    encoded: dictionary(utf8()),
  }
  const fields = Object.entries(types).map(([name, type]) => field(name, type) as Field)
  for (const { name, example, ...kernel } of kernels) {
    let isChosen = false
    const watched =
      <A extends unknown[], R>(make: ((...args: A) => R) | undefined) =>
      (...args: A) => {
        const made = make?.(...args)
        isChosen ||= made !== undefined
        return made as R
      }
    const [test, vectorTest, value] = [
      watched(kernel.test),
      watched(kernel.vectorTest),
      watched(kernel.value),
    ]
    evaluator(planPredicate(example, { fields, metadata: null }), [
      { ...kernel, name, example, test, vectorTest, value },
    ])
    expect([name, isChosen]).toEqual([name, true])
  }
})

test('and so do all but one, whichever it is', () => {
  fc.assert(
    fc.property(some, fc.constantFrom(...kernels), (given, without) => {
      const others = kernels.filter((kernel) => kernel !== without)
      expect(selected(given, others)).toEqual(selected(given, []))
    }),
    { numRuns: 300 },
  )
})

test('a setting leaves none, some or all of them on', () => {
  const names = (setting?: string) => chosenKernels(setting).map((kernel) => kernel.name)
  expect(names()).toEqual(kernels.map((kernel) => kernel.name))
  expect(names('')).toEqual(names())
  expect(names('off')).toEqual([])
  expect(names('text, dictionary')).toEqual(['dictionary', 'text'])
  expect(() => names('text,nonsense')).toThrow(/"nonsense", which is no kernel.*formula/)
})

test('where the runtime forbids generated code, all together answer so', async () => {
  vi.stubGlobal('Function', function forbidden() {
    throw new EvalError('Code generation from strings disallowed for this context')
  })
  vi.resetModules()
  const { mayGenerate } = await import('../../../../src/engine/predicate/kernels/generate.ts')
  const without = await import('../../../../src/engine/predicate/kernels/index.ts')
  const { caseOf, selected } = await import('../evaluate/case.ts')
  expect(mayGenerate()).toBe(false)
  vi.unstubAllGlobals()
  const some = fc.shuffledSubarray([...types], { minLength: 1, maxLength: 4 }).chain(caseOf)
  fc.assert(
    fc.property(some, (given) => {
      expect(selected(given, without.kernels)).toEqual(selected(given, []))
    }),
    { numRuns: 500 },
  )
})

test('the plain evaluator knows none of them', () => {
  const folder = new URL('../../../../src/engine/predicate/evaluate/', import.meta.url)
  const files = readdirSync(folder)
  expect(files).toContain('build.ts')
  for (const file of files) expect(readFileSync(new URL(file, folder), 'utf8')).not.toContain("'../kernels/")
})
