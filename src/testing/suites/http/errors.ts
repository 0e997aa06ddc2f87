import { rule, type Topic } from '../suite.ts'
import { type HttpTrial, problem, tablePath } from './trial.ts'

export const errors: Topic<HttpTrial> = {
  name: 'errors',
  cases: [
    rule(
      'http.error-404',
      'document 7, status 404',
      'What is not there is 404, with the five fields of an error, `code` and `error`.',
      [],
      async (trial: HttpTrial) => {
        const { ask, home } = trial
        problem(await ask('POST', tablePath(trial, 'x', 'describe'), { body: {} }), 404, 'TableNotFound')
        problem(await ask('GET', `/v1/namespace/${home}$x/table/list`), 404, 'NamespaceNotFound')
      },
    ),
    rule(
      'http.error-409',
      'document 7, status 409',
      'A taken name, and a version that is not the next, are 409.',
      [],
      async (trial: HttpTrial) => {
        const { ask, post, home } = trial
        await post(tablePath(trial, 't', 'declare'))
        problem(await ask('POST', tablePath(trial, 't', 'declare'), { body: {} }), 409, 'TableAlreadyExists')
        problem(
          await ask('POST', `/v1/namespace/${home}/create`, { body: {} }),
          409,
          'NamespaceAlreadyExists',
        )
        problem(await ask('POST', `/v1/namespace/${home}/drop`, { body: {} }), 409, 'NamespaceNotEmpty')
        await post(tablePath(trial, 't', 'version/create'), { version: 1, manifest_path: 'm' })
        const body = { version: 5, manifest_path: 'm' }
        problem(
          await ask('POST', tablePath(trial, 't', 'version/create'), { body }),
          409,
          'ConcurrentModification',
        )
      },
    ),
    rule(
      'http.error-400',
      'document 7, status 400',
      'JSON that is malformed, no object, or has fields of the wrong type is 400, and nothing happens.',
      [],
      async (trial: HttpTrial) => {
        const { ask } = trial
        const path = tablePath(trial, 't', 'declare')
        const bodies = ['{"a":', '{} x', 'hello', '[]', '7', '"x"', '{"properties":[]}', '{"location":7}']
        for (const body of bodies) problem(await ask('POST', path, { body }), 400, 'InvalidInput')
        problem(await ask('POST', tablePath(trial, 't', 'describe'), { body: {} }), 404, 'TableNotFound')
      },
    ),
    rule(
      'http.content-type',
      'document 4',
      'A JSON body is sent as application/json; another content type is 400.',
      [],
      async (trial: HttpTrial) => {
        for (const type of [
          'text/plain',
          'application/x-www-form-urlencoded',
          'application/vnd.apache.arrow.stream',
        ]) {
          const asking = { body: '{}', headers: { 'content-type': type } }
          problem(await trial.ask('POST', tablePath(trial, 't', 'declare'), asking), 400)
        }
      },
    ),
    rule(
      'http.unauthorized',
      'document 5',
      'Without valid credentials every operation is 401, and nothing happens.',
      ['token'],
      async (trial: HttpTrial) => {
        const { ask, home } = trial
        for (const token of [null, 'not the token', `${trial.token}x`]) {
          problem(
            await ask('POST', tablePath(trial, 't', 'declare'), { body: {}, token }),
            401,
            'Unauthenticated',
          )
          problem(await ask('GET', `/v1/namespace/${home}/table/list`, { token }), 401, 'Unauthenticated')
        }
        const basic = { authorization: `Basic ${btoa(`me:${trial.token}`)}` }
        problem(await ask('GET', `/v1/namespace/${home}/list`, { token: null, headers: basic }), 401)
        problem(await ask('POST', tablePath(trial, 't', 'describe'), { body: {} }), 404, 'TableNotFound')
      },
    ),
    rule(
      'http.auth-first',
      'document 5; decision: identity',
      'Credentials are checked before anything else; an identity in the body does not take their place.',
      ['token'],
      async (trial: HttpTrial) => {
        const { ask, token } = trial
        const path = tablePath(trial, 't', 'declare')
        problem(await ask('POST', path, { body: '{"a":', token: null }), 401)
        problem(await ask('POST', tablePath(trial, 'none', 'describe'), { body: {}, token: null }), 401)
        const identity = { api_key: token, auth_token: token }
        problem(await ask('POST', path, { body: { identity }, token: null }), 401)
      },
    ),
  ],
}
