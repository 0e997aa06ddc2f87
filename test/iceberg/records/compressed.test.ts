import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { icebergFormats } from '../../../src/iceberg/index.ts'
import { makeTable, servedDirectory } from '../directory.ts'

test('a compressed metadata file is read, changed and verified, and a damaged one is named', async () => {
  const { rest, catalog } = await servedDirectory()
  await rest.post('namespaces', { namespace: ['prod'] })
  const plain = fileURLToPath(await makeTable(rest, 't'))
  await rest.post('namespaces/prod/tables/t/unregister', {})
  const file = plain.replace(/[^/]*$/, '00009-x.gz.metadata.json')
  writeFileSync(file, gzipSync(readFileSync(plain)))
  const registered = { name: 'u', 'metadata-location': `file://${file}` }
  expect((await rest.post('namespaces/prod/register', registered)).status).toBe(200)
  const updates = [{ action: 'set-properties', updates: { a: 'b' } }]
  expect((await rest.post('namespaces/prod/tables/u', { requirements: [], updates })).status).toBe(200)
  expect(await catalog.verify({ formats: icebergFormats })).toMatchObject({ ok: true, elsewhere: 0 })
  writeFileSync(file, gzipSync(readFileSync(plain)).subarray(0, 100))
  const { findings } = await catalog.verify({ formats: icebergFormats })
  expect(findings).toMatchObject([{ message: expect.stringContaining('Cannot decompress metadata file') }])
})
