import { expect, it } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, eachLocalCatalog } from '../../support/catalogs.ts'
import { limitEach } from '../../support/time-limit.ts'
import { attackThrough, inProcess, overHttp } from './attack.ts'

// It makes hundreds of attacks.
limitEach(60)

const runs = Number(process.env.ATTACK_RUNS ?? 1)
const seed = Number(process.env.FC_SEED ?? 20_261_120)

it('one tenant neither sees nor changes what is of another, over HTTP', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  await using door = await overHttp(catalog)
  await attackThrough(door, 240 * runs, seed)
})

eachLocalCatalog((open) => {
  it('one tenant neither sees nor changes what is of another, in the process of the catalog', async () => {
    const done = await attackThrough(await inProcess(open), 480 * runs, seed)
    // Attacks that are all refused for another reason would show nothing.
    expect(done.size).toBeGreaterThan(30)
  })
})
