import assert from 'node:assert/strict'
import { rule, type Topic } from '../suite.ts'
import { good, type HttpTrial, problem, tablePath } from './trial.ts'

const header = 'x-tabularium-transaction'

const needs = ['beginTransaction', 'commitTransaction', 'rollbackTransaction']

/** Begins a transaction, and resolves to the path of its operations and the header of those inside. */
async function begin({ post }: HttpTrial) {
  const { transaction_id } = await post('/v1/transaction/begin')
  assert.equal(typeof transaction_id, 'string')
  const id = String(transaction_id)
  return { id, path: `/v1/transaction/${encodeURIComponent(id)}`, headers: { [header]: id } }
}

export const transactions: Topic<HttpTrial> = {
  name: 'transactions',
  cases: [
    rule(
      'http.inside',
      'docs/transactions.md',
      'A request is part of the transaction that its header x-tabularium-transaction names.',
      needs,
      async (trial: HttpTrial) => {
        const { ask, post } = trial
        const { path, headers } = await begin(trial)
        const describe = tablePath(trial, 't', 'describe')
        good(await ask('POST', tablePath(trial, 't', 'declare'), { body: {}, headers }))
        good(await ask('POST', describe, { body: {}, headers }))
        problem(await ask('POST', describe, { body: {} }), 404, 'TableNotFound')
        await post(`${path}/commit`)
        await post(describe)
        const listing = `/v1/namespace/${trial.home}/table/list?include_declared=true`
        assert.deepEqual(good(await ask('GET', listing)).tables, [`${trial.home}$t`])
      },
    ),
    rule(
      'http.inside-kept',
      'docs/transactions.md',
      'An answer from inside of a transaction is given to nobody else, and one from outside not within.',
      needs,
      async (trial: HttpTrial) => {
        const { ask, post, home } = trial
        await post(tablePath(trial, 't', 'declare'))
        const listing = `/v1/namespace/${home}/table/list?include_declared=true`
        const count = async (headers: Record<string, string> = {}) =>
          (good(await ask('GET', listing, { headers })).tables as unknown[]).length
        const outside = [await count(), await count()]
        const { path, headers } = await begin(trial)
        good(await ask('POST', tablePath(trial, 'u', 'declare'), { body: {}, headers }))
        const inside = [await count(headers), await count(headers)]
        outside.push(await count(), await count())
        inside.push(await count(headers))
        assert.deepEqual({ outside, inside }, { outside: [1, 1, 1, 1], inside: [2, 2, 2] })
        await post(`${path}/rollback`)
        assert.equal(await count(), 1)
      },
    ),
    rule(
      'http.inside-ended',
      'docs/transactions.md',
      'A transaction that is not there is 404; a lost race is 409; what cannot be an id, or comes too late, is 400.',
      needs,
      async (trial: HttpTrial) => {
        const { ask, post, home } = trial
        const declare = tablePath(trial, 't', 'declare')
        const inside = (id: string) => ask('POST', declare, { body: {}, headers: { [header]: id } })
        problem(await inside('01ARZ3NDEKTSV4RRFFQ69G5FAV'), 404, 'TransactionNotFound')
        problem(await inside('one, two'), 400, 'InvalidInput')
        problem(await ask('POST', '/v1/transaction/none/commit', { body: {} }), 404, 'TransactionNotFound')
        problem(await ask('POST', '/v1/transaction/none/rollback', { body: {} }), 404, 'TransactionNotFound')
        const { id, path, headers } = await begin(trial)
        good(await ask('GET', `/v1/namespace/${home}/table/list?include_declared=true`, { headers }))
        good(await ask('POST', tablePath(trial, 'v', 'declare'), { body: {}, headers }))
        await post(tablePath(trial, 'u', 'declare'))
        const lost = await ask('POST', `${path}/commit`, { body: {} })
        problem(lost, 409, 'ConcurrentModification')
        assert.equal((lost.json as { transaction_id?: unknown }).transaction_id, id)
        const second = await begin(trial)
        await post(`${second.path}/commit`)
        problem(await inside(second.id), 400, 'InvalidInput')
        problem(await ask('POST', tablePath(trial, 't', 'describe'), { body: {} }), 404, 'TableNotFound')
      },
    ),
    rule(
      'http.inside-owner',
      'docs/transactions.md',
      'To another caller, a transaction is 404 as one that is not there.',
      [...needs, 'otherToken'],
      async (trial: HttpTrial) => {
        const { ask, post, otherToken: token } = trial
        const { path, headers } = await begin(trial)
        good(await ask('POST', tablePath(trial, 't', 'declare'), { body: {}, headers }))
        const describe = tablePath(trial, 't', 'describe')
        problem(await ask('POST', describe, { body: {}, headers, token }), 404, 'TransactionNotFound')
        for (const verb of ['commit', 'rollback'])
          problem(await ask('POST', `${path}/${verb}`, { body: {}, token }), 404, 'TransactionNotFound')
        await post(`${path}/commit`)
        await post(describe)
      },
    ),
  ],
}
