import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { fakeServer } from '../../../src/testing/index.ts'
import { limitEach } from '../../support/time-limit.ts'
import { runFlow } from './flow.ts'
import { pythonOf } from './programs.ts'

// A Python that imports a large library.
limitEach(600)

const found = await pythonOf('pyiceberg')
const isLeftOut = typeof found === 'string' ? `, left out: ${found}` : ''

describe.skipIf(typeof found === 'string')(`PyIceberg before a fake with faults${isLeftOut}`, () => {
  it('meets each of them as the error that it knows', async () => {
    if (typeof found === 'string') return
    await using server = await fakeServer({ iceberg: true, control: true })
    const steps = await runFlow(found.python, 'faults_flow.py', {
      url: `${server.url}/iceberg`,
      warehouse: tmpdir(),
    })
    expect(steps.filter(({ ok }) => !ok)).toEqual([])
    expect(steps).toHaveLength(7)
  })
})
