import { rm } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openCatalog } from '../../src/tabularium/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { limitEach } from '../support/time-limit.ts'
import { Child } from './child-process.ts'

// Processes change one table for seconds.
limitEach(60)

const millis = 4_000

test('processes that change one table all the time each get their share, and none fails', async () => {
  const directory = await temporaryDirectory()
  await using catalog = await openCatalog(directory)
  await catalog.createTable({ id: ['shared'], data: [{ by: 'nobody' }] })
  const names = ['p0', 'p1', 'p2', 'p3']
  const children = names.map(
    (me) => new Child('test/processes/shares-child.ts', [directory, me, `${millis}`]),
  )
  onTestFinished(async () => {
    for (const child of children) child.stop()
    await rm(directory, { recursive: true, force: true })
  })
  for (const child of children) await child.said('ready')
  for (const child of children) child.write('go\n')
  for (const child of children) await child.ended()
  const done = children.map(({ lines }) => Number(lines.at(-1)))
  expect(Math.min(...done)).toBeGreaterThanOrEqual(Math.max(...done) / 4)
  const total = done.reduce((sum, count) => sum + count)
  expect(await catalog.countTableRows({ id: ['shared'] })).toEqual({ count: total + 1 })
})
