import assert from 'node:assert/strict'
import { rule, type Topic } from '../suite.ts'
import { good, type HttpTrial, problem, tablePath } from './trial.ts'

export const paths: Topic<HttpTrial> = {
  name: 'paths',
  cases: [
    rule(
      'http.id',
      'document 1, object identifier',
      'The identifier in the path is the names joined by `$`.',
      [],
      async (trial: HttpTrial) => {
        await trial.post(tablePath(trial, 't', 'declare'))
        const answer = good(await trial.ask('GET', `/v1/namespace/${trial.home}/table/list`))
        assert.deepEqual(answer.tables, [`${trial.home}$t`])
        await trial.post(`/v1/table/${trial.home}$t/describe`)
      },
    ),
    rule(
      'http.delimiter',
      'document 1, query parameter delimiter',
      'A delimiter in the query joins the names in the path and in the answer.',
      [],
      async (trial: HttpTrial) => {
        const { ask, post, home } = trial
        await post(`/v1/namespace/${home}.n/create?delimiter=.`)
        await post(`/v1/table/${home}.n.t/declare?delimiter=.`)
        await post(`/v1/table/${home}%3A%3An%3A%3At/describe?delimiter=%3A%3A`)
        const answer = good(await ask('GET', `/v1/namespace/${home}/table/list?delimiter=.`))
        assert.deepEqual(answer.tables, [`${home}.n.t`])
        for (const delimiter of ['', 'x'.repeat(9)]) {
          problem(await ask('GET', `/v1/namespace/${home}/table/list?delimiter=${delimiter}`), 400)
        }
      },
    ),
    rule(
      'http.root',
      'document 1, object identifier',
      'An identifier equal to the delimiter is the root.',
      [],
      async ({ ask }: HttpTrial) => {
        good(await ask('GET', '/v1/namespace/$/list?limit=1'))
        good(await ask('GET', '/v1/namespace/%24/list?limit=1'))
        good(await ask('GET', '/v1/namespace/::/list?delimiter=::&limit=1'))
        problem(await ask('POST', '/v1/table/$/describe', { body: {} }), 400)
      },
    ),
    rule(
      'http.encoding',
      'document 1; decision: names',
      'Names travel percent-encoded in the path, whatever they hold; a broken encoding is 400.',
      [],
      async (trial: HttpTrial) => {
        const names = ['a b', 'a/b', '100%', 'x?y#z', 'é', '\u{1F6EB}', 'a+b', '%2F', '__proto__']
        for (const name of names)
          await trial.post(tablePath(trial, name, 'declare'), { properties: { name } })
        for (const name of names) {
          const { properties } = await trial.post(tablePath(trial, name, 'describe'))
          assert.deepEqual(properties, { name })
        }
        for (const id of ['%zz', '%c3', '%']) {
          problem(await trial.ask('POST', `/v1/table/${id}/describe`, { body: {} }), 400)
        }
      },
    ),
    rule(
      'http.empty-name',
      'decision: names',
      'An identifier with an empty segment, or with control characters, is 400.',
      [],
      async ({ ask, home }: HttpTrial) => {
        for (const id of [`${home}$$t`, `$${home}`, `${home}$`, `${home}$a%00b`]) {
          problem(await ask('POST', `/v1/table/${id}/describe`, { body: {} }), 400, 'InvalidInput')
        }
      },
    ),
    rule(
      'http.body-id',
      'document 1, body field id; decision: body id and path id',
      'An `id` in the body may repeat that of the path; another one is 400.',
      [],
      async (trial: HttpTrial) => {
        const { ask, post, home } = trial
        await post(tablePath(trial, 't', 'declare'), { id: [home, 't'] })
        await post(tablePath(trial, 'u', 'declare'))
        await post(tablePath(trial, 't', 'describe'), { id: [home, 't'] })
        problem(await ask('POST', tablePath(trial, 't', 'describe'), { body: { id: [home, 'u'] } }), 400)
        problem(await ask('POST', tablePath(trial, 't', 'describe'), { body: { id: `${home}$t` } }), 400)
      },
    ),
    rule(
      'http.unknown-route',
      'decision: error body',
      'A path that names no operation is 404, with an error body.',
      [],
      async ({ ask, home }: HttpTrial) => {
        problem(await ask('POST', `/v1/table/${home}/nothing`, { body: {} }), 404)
        problem(await ask('GET', '/v1/nothing'), 404)
        problem(await ask('POST', `/v2/table/${home}/describe`, { body: {} }), 404)
      },
    ),
    rule(
      'http.methods',
      'document 4; protocol',
      'Listings are read with GET; a method that a path does not take is refused with an error body.',
      [],
      async (trial: HttpTrial) => {
        const { ask, home } = trial
        good(await ask('GET', `/v1/namespace/${home}/table/list`))
        good(await ask('GET', `/v1/namespace/${home}/list`))
        const reply = await ask('DELETE', tablePath(trial, 't', 'describe'))
        assert.ok([400, 404, 405].includes(reply.status), `DELETE answered ${reply.status}`)
        assert.equal(typeof (reply.json as { type?: unknown }).type, 'string')
      },
    ),
    rule(
      'http.get-too',
      'protocol: operations that only read',
      'Versions and tags are listed, and rows counted, with GET as with POST.',
      ['listTableTags', 'countTableRows'],
      async (trial: HttpTrial) => {
        const { ask, post } = trial
        await post(tablePath(trial, 't', 'declare'))
        for (const verb of ['version/list', 'tags/list']) {
          const [got, posted] = [
            good(await ask('GET', tablePath(trial, 't', verb))),
            await post(tablePath(trial, 't', verb)),
          ]
          assert.deepEqual(got, posted)
        }
        const counted = await ask('GET', tablePath(trial, 'x', 'count_rows'))
        problem(counted, 404, 'TableNotFound')
      },
    ),
  ],
}
