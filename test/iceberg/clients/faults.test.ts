import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { fakeServer } from '../../../src/testing/index.ts'
import { describeWith } from '../../support/describe-with.ts'
import { limitEach } from '../../support/time-limit.ts'
import { runFlow } from './flow.ts'
import { pythonOf } from './programs.ts'

// A Python that imports a large library.
limitEach(600)

describeWith('PyIceberg before a fake with faults', await pythonOf('pyiceberg'), ({ python }) => {
  it('meets each of them as the error that it knows', async () => {
    await using server = await fakeServer({ iceberg: true, control: true })
    const steps = await runFlow(python, 'faults_flow.py', {
      url: `${server.url}/iceberg`,
      warehouse: tmpdir(),
    })
    expect(steps.filter(({ ok }) => !ok)).toEqual([])
    expect(steps).toHaveLength(7)
  })
})
