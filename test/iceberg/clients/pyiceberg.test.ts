import { afterAll, beforeAll, describe, it } from 'vitest'
import { limitEach } from '../../support/time-limit.ts'
import { judgeOf } from './judge.ts'
import { type IcebergServer, startIceberg } from './server.ts'

limitEach(600)

const found = await judgeOf('pyiceberg')
const isLeftOut = typeof found === 'string' ? `, left out: ${found}` : ''
if (isLeftOut !== '') console.warn(`PyIceberg is a client of Iceberg REST that is${isLeftOut.slice(1)}.`)

describe.skipIf(typeof found === 'string')(`PyIceberg, a client of Iceberg REST${isLeftOut}`, () => {
  let server: IcebergServer
  beforeAll(async () => {
    server = await startIceberg()
  })
  afterAll(() => server?.close())

  it('does all that its flow asks', () => (typeof found === 'string' ? undefined : found.judge(server)))
})
