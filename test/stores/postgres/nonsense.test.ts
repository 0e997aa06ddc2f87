import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'

/** A row of three columns, whose first one is longer than the row. */
const nonsense = Buffer.from('D\0\0\0\x14\0\x03nice work, all')

describe.skipIf(missingPostgres)('what is no message of the protocol', () => {
  test('ends its connection, and neither the process nor the work', async () => {
    const server = await sharedServer()
    const url = new URL(await server.freshUrl())
    const { port } = url
    let spoiled = 0
    const between = createServer((client) => {
      const target = connect(Number(port), '127.0.0.1')
      client.on('error', () => {}).on('close', () => target.destroy())
      target.on('error', () => {}).on('close', () => client.destroy())
      client.pipe(target)
      target.on('data', (bytes) => {
        if (spoiled === 0) return client.write(bytes)
        spoiled--
        client.write(nonsense)
      })
    }).listen(0, '127.0.0.1')
    await once(between, 'listening')
    onTestFinished(() => void between.close())
    const near = await openPostgresStore(url.href)
    url.port = String((between.address() as { port: number }).port)
    const store = await openPostgresStore(url.href)
    onTestFinished(async () => {
      await store.close()
      await near.close()
    })

    spoiled = 1
    expect(await store.read((tx) => tx.get(['n']))).toBeUndefined()
    expect(spoiled).toBe(0)
    for (let i = 1; i <= 3; i++) {
      spoiled = 1
      await store.write((tx) => tx.put(['n'], (tx.get<number>(['n']) ?? 0) + 1))
      expect(spoiled).toBe(0)
      expect(await near.read((tx) => tx.get(['n']))).toBe(i)
    }
  })
})
