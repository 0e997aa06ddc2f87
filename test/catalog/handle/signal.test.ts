import { expect, it, onTestFinished, vi } from 'vitest'
import { connect } from '../../../src/client/index.ts'
import { fetchHandler } from '../../../src/server/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'
import { numbered } from '../../support/rows.ts'

async function bothSides() {
  const local = closedAfterwards(await openCatalog('memory:', { concurrency: 1 }))
  await local.createTable({ id: ['t'], data: numbered(3) })
  const handle = await fetchHandler(local, { auth: false })
  return [local, connect('http://localhost', { fetch: (request) => handle(request) })]
}

it('what is no signal is refused', async () => {
  const wrong = [new AbortController(), new EventTarget(), {}, 'x', 5, null] as unknown as AbortSignal[]
  for (const catalog of await bothSides())
    for (const signal of wrong) {
      await fails(
        catalog.countTableRows({ id: ['t'] }, { signal }),
        'InvalidInput',
        'signal is no AbortSignal',
      )
      await fails(
        catalog.transaction!(async () => {}, { signal }),
        'InvalidInput',
        'signal is no AbortSignal',
      )
    }
})

it('many calls at once with one signal cause no warning', async () => {
  const warn = vi.spyOn(process, 'emitWarning')
  onTestFinished(() => void warn.mockRestore())
  const { signal } = new AbortController()
  for (const catalog of await bothSides()) {
    const each = Array.from({ length: 20 }, (_, n) => n)
    await Promise.all([
      ...each.map((n) => catalog.queryTable({ id: ['t'], filter: `n > ${n}` }, { signal })),
      ...each.map((n) => catalog.insertIntoTable({ id: ['t'], data: numbered(1, n) }, { signal })),
      ...each.map((n) => catalog.transaction!((tx) => tx.declareTable({ id: [`d${n}`] }), { signal })),
    ])
    for (const n of each) await catalog.dropTable({ id: [`d${n}`] })
  }
  expect(warn).not.toHaveBeenCalled()
})
