import { describe, expect, it } from 'vitest'
import { endpoints } from '../../src/iceberg/rest/router.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { eachLocalCatalog } from '../support/catalogs.ts'
import { Draw } from '../support/draw.ts'
import { attacker, attackIceberg, pathOf, settleIceberg, victim } from './attack.ts'
import { bodies, placed } from './attack-requests.ts'

const runs = Number(process.env.ATTACK_RUNS ?? 1)
const seed = Number(process.env.FC_SEED ?? 20_261_127)

/** These concern nothing that is of anybody. */
const ofNobody = ['getConfig', 'getToken']

describe('what is of another caller', () => {
  it('is refused at each endpoint, and as what is not there', async () => {
    await using catalog = await openCatalog('memory:')
    await using attacked = await settleIceberg(catalog)
    const { ask, known, dump } = attacked
    const before = await dump()
    const [location, metadata] = [known.locations[0]!, known.metadata[0]!]
    await ask(attacker, 'POST', 'namespaces', { namespace: [attacker] })
    for (const endpoint of endpoints) {
      if (ofNobody.includes(endpoint.name)) continue
      const answers = []
      for (const name of [/view/i.test(endpoint.name) ? 'view' : 'table', 'none']) {
        const aim = { namespace: [victim], name }
        const made = bodies[endpoint.name]?.(aim, { location, metadata, other: [attacker, 'new'] })
        // An endpoint with a body needs an attack in attack-requests.ts.
        if (endpoint.body === 'json') expect([endpoint.name, made]).not.toEqual([endpoint.name, undefined])
        // Without variables, only the query names something.
        const query = endpoint.name === 'listNamespaces' ? `?parent=${victim}` : ''
        for (const body of made ?? [undefined]) {
          const path = pathOf(endpoint, victim, name) + query
          const answer = await ask(attacker, endpoint.method, path, body)
          expect([endpoint.name, body, answer.status]).toEqual([endpoint.name, body, 403])
          if (endpoint.method !== 'HEAD') expect(answer.body.error.type).toBe('ForbiddenException')
          answers.push([body === undefined, JSON.stringify(answer.body)?.replaceAll(name, '…')])
        }
      }
      const half = answers.length / 2
      expect(answers.slice(0, half)).toEqual(answers.slice(half))
    }
    expect(await dump()).toBe(before)
  })

  eachLocalCatalog((open) => {
    it('is not told by whether a file can be registered', async () => {
      await using catalog = await open()
      await using attacked = await settleIceberg(catalog)
      const { ask, known } = attacked
      await ask(attacker, 'POST', 'namespaces', { namespace: [attacker] })
      const draw = new Draw(seed)
      for (let i = 0; i < 60; i++) {
        const there = draw.oneOf(known.metadata)
        const spelling = draw.below(1e9)
        const answers = []
        for (const file of [there, there.replace(/.{9}\.metadata/, 'x.metadata')]) {
          const body = { name: 'new', 'metadata-location': placed(file, new Draw(spelling)) }
          const answer = await ask(attacker, 'POST', `namespaces/${attacker}/register`, body)
          answers.push([answer.status, answer.body.error.type])
          expect([body, answer.status]).not.toEqual([body, 200])
        }
        expect([there, answers[0]]).toEqual([there, answers[1]])
      }
    })

    it('is neither seen nor changed by any request that is drawn', async () => {
      await using catalog = await open()
      await using attacked = await settleIceberg(catalog)
      const done = await attackIceberg(attacked, 480 * runs, seed)
      // Attacks that are all refused for another reason would show nothing.
      expect(done.size).toBeGreaterThan(8)
    })
  })
})
