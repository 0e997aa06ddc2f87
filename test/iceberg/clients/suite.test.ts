import { describe, expect, it } from 'vitest'
import { icebergSuite } from '../../../src/testing/index.ts'
import { icebergTopics } from '../../../src/testing/suites/iceberg-suite.ts'
import { limitEach } from '../../support/time-limit.ts'
import { collect, failureOf } from '../../testing/mutants/run-cases.ts'
import { kitClasses } from './kit.ts'
import { referenceFails, referenceFailsByChance } from './reference.ts'
import { startIceberg } from './server.ts'

// A server of its own, and some hundred requests.
limitEach(300)

/** The rules that a server breaks, with what was seen. */
async function brokenBy(url: string) {
  let registered: Promise<void> | undefined
  const cases = collect((runner) => {
    registered = icebergSuite(runner, { url })
  })
  await registered
  const broken: Record<string, string> = {}
  for (const rule of cases.keys()) {
    const failure = await failureOf(cases, rule)
    if (failure !== undefined) broken[rule.replace('iceberg.', '')] = failure
  }
  return broken
}

describe('the suite of Iceberg REST', () => {
  it('passes for the command serve', async () => {
    const server = await startIceberg('ours')
    expect(await brokenBy(server.url).finally(() => server.close())).toEqual({})
  })

  const classes = kitClasses()
  it('knows what the server in Java breaks', async ({ skip }) => {
    const found = await classes
    if (typeof found === 'string') return skip(found)
    const server = await startIceberg('reference')
    const broken = await brokenBy(server.url).finally(() => server.close())
    const known = referenceFails.suite!
    const byChance = Object.keys(referenceFailsByChance.suite!)
    for (const rule of byChance) delete broken[rule]
    const unknown = Object.entries(broken).filter(([rule]) => known[rule] === undefined)
    expect(Object.fromEntries(unknown)).toEqual({})
    // One that holds is known no longer.
    expect(Object.keys(broken).sort()).toEqual(Object.keys(known).sort())
    const rules = icebergTopics.flatMap(({ cases }) => cases.map(({ id }) => id.replace('iceberg.', '')))
    expect(rules).toEqual(expect.arrayContaining(byChance))
  })
})
