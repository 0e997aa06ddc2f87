import assert from 'node:assert/strict'
import { rule, type Topic } from '../suite.ts'
import { createTable, failed, good, type IcebergTrial, schema, tableAt } from './trial.ts'

export const config: Topic<IcebergTrial> = {
  name: 'configuration, callers and errors',
  cases: [
    rule(
      'iceberg.config',
      'Iceberg REST, getConfig',
      'The configuration has defaults and overrides of texts, and lists each endpoint once.',
      [],
      async ({ ask }) => {
        const { defaults, overrides, endpoints = [] } = good(await ask('GET', ['config']))
        for (const map of [defaults, overrides])
          for (const value of Object.values(map)) assert.equal(typeof value, 'string')
        for (const endpoint of endpoints) assert.match(endpoint, /^(GET|HEAD|POST|PUT|DELETE) \/v1\/\S+$/)
        assert.equal(new Set(endpoints).size, endpoints.length)
      },
    ),
    rule(
      'iceberg.unknown-path',
      'Iceberg REST, errors',
      'A path that nobody knows is an error in the form of the specification.',
      [],
      async ({ ask }) => {
        failed(await ask('GET', ['nothing']), [400, 404, 405, 406])
        failed(await ask('POST', ['namespaces', ['a'], 'nothing'], { body: {} }), [400, 404, 405, 406])
      },
    ),
    rule(
      'iceberg.unauthorized',
      'Iceberg REST, status 401',
      'Without valid credentials a request is 401 NotAuthorizedException, and nothing happens.',
      ['token'],
      async (trial) => {
        const { ask, home } = trial
        await createTable(trial, 't')
        for (const token of [null, 'not the token']) {
          failed(await ask('GET', tableAt(trial, 't'), { token }), 401, 'NotAuthorizedException')
          const asking = { body: { name: 'u', schema }, token }
          failed(await ask('POST', ['namespaces', home, 'tables'], asking), 401, 'NotAuthorizedException')
          failed(await ask('DELETE', tableAt(trial, 't'), { token }), 401, 'NotAuthorizedException')
        }
        good(await ask('GET', tableAt(trial, 't')))
        failed(await ask('GET', tableAt(trial, 'u')), 404, 'NoSuchTableException')
      },
    ),
  ],
}
