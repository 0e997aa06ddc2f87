import { spawnSync } from 'node:child_process'
import { describe, expect, it, test } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { compilePredicate } from '../../../src/engine/predicate/index.ts'
import { predicates, rows, table } from './reference-cases.ts'
import { select } from './table.ts'

describe.each(['core', 'extended'])('what the reference answers, %s cases', (level) => {
  it.each(predicates.filter((one) => one.level === level))('$predicate', ({ predicate, ids }) => {
    if (ids === undefined) expect(() => select(table, predicate)).toThrow(CatalogError)
    else expect(select(table, predicate).map((row) => rows[row]!.id)).toEqual(ids)
  })
})

it('refuses what follows a predicate, which the reference ignores', () => {
  expect(() => compilePredicate('id = 1; DROP TABLE t', table.schema)).toThrow(
    'found ";" at line 1, column 7 (offset 6). Expected an operator or the end of the predicate there.',
  )
})

test('all of it where the runtime forbids generated code', () => {
  const program = `
    import { predicates, rows, table } from './test/engine/predicate/reference-cases.ts'
    import { select } from './test/engine/predicate/table.ts'
    try { new Function('') ; process.exit(3) } catch {}
    const answer = (predicate) => {
      try {
        return select(table, predicate).map((row) => rows[row].id)
      } catch (error) {
        return error.code
      }
    }
    console.log(JSON.stringify(predicates.map(({ predicate }) => answer(predicate))))`
  const flags = ['--disallow-code-generation-from-strings', '--import', 'tsx', '--input-type=module', '-e']
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, program], { encoding: 'utf8' })
  expect(stderr).toBe('')
  const answers = JSON.parse(stdout) as unknown[]
  predicates.forEach(({ predicate, ids }, i) => {
    expect([predicate, answers[i]]).toEqual([predicate, ids ?? 'InvalidInput'])
  })
})
