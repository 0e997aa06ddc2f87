import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { connect } from '../../../src/client/index.ts'
import { serve } from '../../../src/server/index.ts'
import { CatalogError, type Transaction } from '../../../src/tabularium/index.ts'
import { fakeCatalog, fakeServer } from '../../../src/testing/index.ts'
import { eachCatalog } from '../../support/catalogs.ts'

/** A secret that no print may show. */
const secret = 'hunter2-hunter2-hunter2-hunter2'
const auth = { tokens: [secret] }

/** What `console.log` and `JSON.stringify` write. No part of either is secret, however deep one looks. */
function printed(value: unknown): { readonly text: string; readonly json: string } {
  const json = String(JSON.stringify(value))
  expect(json + inspect(value, { depth: 12 })).not.toContain('hunter2')
  return { text: inspect(value), json }
}

eachCatalog((open) => {
  test('a catalog and a transaction are printed as a line that says where', async () => {
    const catalog = await open()
    // Each method that was called is a member.
    await catalog.listTables({ id: [] })
    const { text, json } = printed(catalog)
    expect(text).toMatch(open.remote ? /^Catalog at http:\/\/\S+$/ : /^Catalog of \w+:\/\/\S+\/$/)
    expect(json.length).toBeLessThan(200)
    await catalog.transaction(async (tx: Transaction) => {
      expect(printed(tx).text).toBe(`Transaction ${tx.transactionId}`)
    })
    await catalog.close()
    expect(printed(catalog).text).toBe(`${text} (closed)`)
  })
})

test('clients, servers and their errors print no token', async () => {
  const fake = await fakeCatalog({ seed: { t: [{ x: 1 }] } })
  await using server = await serve(fake, { port: 0, auth })
  await using client = connect(server.url, { token: secret })
  await using stranger = connect(server.url, { token: `${secret}-wrong` })
  await using lost = connect('http://127.0.0.1:1', { token: secret, retries: 0 })
  await using served = await fakeServer({ token: secret })
  expect(served.token).toBe(secret)
  await client.describeTable({ id: ['t'], identity: { auth_token: secret } })
  for (const value of [server, client, stranger, lost, served]) {
    const { text, json } = printed(value)
    expect(text.split('\n').length).toBeLessThan(20)
    expect(json.length).toBeLessThan(500)
  }
  for (const catalog of [stranger, lost]) {
    const error = await catalog.listTables({ id: [] }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(CatalogError)
    printed(error)
  }
})

test('a fake prints its calls as lines, and its faults as they were given', async () => {
  const fake = await fakeCatalog({ seed: { t: Array.from({ length: 5_000 }, (_, x) => ({ x })) } })
  const fault = fake.faults.add({ operation: 'listTables', stale: 'state' })
  await fake.describeTable({ id: ['t'], identity: { auth_token: secret } })
  await fake.describeTable({ id: ['none'] }).catch(() => {})
  expect(inspect(fake.calls)).toBe(
    inspect(['1 describeTable ["t"]: succeeded', '2 describeTable ["none"]: failed']),
  )
  const plain = { id: 'fault-1', fault: { operation: 'listTables', stale: 'state' }, seen: 0, fired: 0 }
  expect(printed(fault)).toEqual({ text: inspect(plain), json: JSON.stringify(plain) })
  expect(inspect(fake.faults)).toBe(inspect([plain]))
})

test('the JSON of an error has its message and what programs need, and neither stack nor cause', async () => {
  const cause = new Error(secret)
  const error = new CatalogError('ConcurrentModification', 'Version 2 is there.', { cause, next_version: 3 })
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    name: 'CatalogError',
    code: 'ConcurrentModification',
    message: 'Version 2 is there.',
    next_version: 3,
  })
})
