import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { tableFromIPC } from '@uwdata/flechette'
import { fileContent } from '../../src/contents/files/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { type BadNetwork, makeBad } from '../support/bad-network.ts'
import { temporaryDirectory } from '../support/folders.ts'
import type { Database } from '../support/postgres.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'
import { Child } from './child-process.ts'

const hour = 3_600_000

/**
 * Processes whose clocks differ by an hour or more work on one catalog, also over a bad network. Checks that all
 * acknowledged changes are there, and no others.
 */
export async function runApart(
  server: Database,
  seed: number,
  rounds: number,
  network?: BadNetwork,
): Promise<number> {
  const location = (await server.freshUrl()) as `postgres://${string}`
  const proxy = await TcpProxy.start(server.port)
  const far = new URL(location)
  far.port = String(proxy.port)
  const folder = await temporaryDirectory()
  const catalog = await openCatalog(location, { content: fileContent(folder), root: 's3://bucket/all' })
  try {
    for (const name of ['left', 'right']) await catalog.createTable({ id: [name], data: [{ n: -1 }] })
    const children = [-hour, hour, 0].map((offset, i) => {
      const args = [far.href, folder, String(i + 1), String(offset), String(seed + i), String(rounds)]
      return new Child('test/processes/clock-child.ts', args)
    })
    try {
      // Opening a catalog is not retried.
      await Promise.all(children.map((child) => child.said('ready')))
      if (network) makeBad(proxy, seed, network)
      await Promise.all(children.map((child) => child.ended()))
    } finally {
      for (const child of children) child.stop()
    }
    const told = children.flatMap(({ lines }) =>
      lines
        .filter((line) => line !== 'ready')
        .map((line) => JSON.parse(line) as { table: string; n: number; transaction?: string }),
    )
    const byTable = new Map<string, typeof told>()
    for (const change of told) byTable.set(change.table, [...(byTable.get(change.table) ?? []), change])
    for (const [table, changes] of byTable) {
      const { data } = await catalog.queryTable({ id: [table] })
      const there = (tableFromIPC(data).toArray() as { n: number }[]).map(({ n }) => Number(n))
      const shared = table === 'left' || table === 'right' ? [-1] : []
      const due = [...shared, ...changes.map(({ n }) => n)]
      assert.deepEqual([table, there.sort((a, b) => a - b)], [table, due.sort((a, b) => a - b)])
    }
    // Recent records must not be removed by retention, whatever a clock says.
    for (const { transaction } of told) {
      if (transaction === undefined) continue
      assert.equal((await catalog.describeTransaction({ id: [transaction] })).status, 'Succeeded')
    }
    assert.equal((await catalog.verify()).problems, 0)
    return told.length
  } finally {
    proxy.close()
    await catalog.close()
    await rm(folder, { recursive: true, force: true })
  }
}
