import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Catalog, openCatalog } from 'tabularium'
import { catalogSuite } from 'tabularium/testing'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { connectLines } from './client.ts'
import { serveLines } from './server.ts'

let folder: string
let catalog: Catalog
let server: Server

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tabularium-lines-'))
  catalog = await openCatalog('memory:')
  server = createServer((socket) => void serveLines(catalog, socket).finally(() => socket.end()))
  server.listen(join(folder, 'socket'))
  await once(server, 'listening')
})

afterAll(async () => {
  server.close()
  await catalog.close()
  await rm(folder, { recursive: true })
})

catalogSuite({ describe, test }, () => connectLines(connect(join(folder, 'socket'))), {
  name: 'a catalog over JSON lines on a socket',
})
