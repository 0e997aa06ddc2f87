import assert from 'node:assert/strict'
import type { ErrorCode } from '../../../base/errors.ts'
import { changesPath, eventStreamType, lastEventHeader } from '../../../protocol/events.ts'
import type { ErrorStatus } from '../../../protocol/status.ts'
import { rule, type Topic } from '../suite.ts'
import { type Asking, type HttpTrial, problem, tablePath } from './trial.ts'

const source = 'docs/changes.md'
const needs = ['watch']

/** Declares tables, and resolves to the events of the stream up to that of the last one. */
async function declared(trial: HttpTrial, query: string, headers: Record<string, string>, names: string[]) {
  const { stream, post } = trial
  const { reply, next, stop } = await stream(`${changesPath}?id=${trial.home}${query}`, { headers })
  try {
    assert.equal(reply.status, 200)
    const found = [await next()]
    for (const name of names) await post(tablePath(trial, name, 'declare'))
    const last = names.at(-1)
    while (last !== undefined && !found.at(-1)!.data.includes(`"${last}"`)) found.push(await next())
    return found
  } finally {
    await stop()
  }
}

/** Asserts that a stream is refused. Closes a stream that is not, since it would never end. */
async function refusedStream(
  { ask, stream }: HttpTrial,
  path: string,
  asking: Pick<Asking, 'token'>,
  status: ErrorStatus,
  code: ErrorCode,
): Promise<void> {
  const { reply, stop } = await stream(path, asking)
  await stop()
  assert.equal(reply.status, status, `${path} answered ${reply.status}.`)
  problem(await ask('GET', path, asking), status, code)
}

/** The names of the tables in events. */
function namesIn(events: readonly { readonly kind: string; readonly data: string }[]): string[] {
  return events
    .filter(({ kind }) => kind === 'message')
    .flatMap(({ data }) => (JSON.parse(data) as { changes: { id: string[] }[] }).changes)
    .map(({ id }) => id.at(-1)!)
}

export const changes: Topic<HttpTrial> = {
  name: 'changes',
  cases: [
    rule(
      'http.changes',
      source,
      'GET /v1/changes streams server-sent events: first the token for now, then each change with its token as its id.',
      needs,
      async (trial: HttpTrial) => {
        const { reply, stop } = await trial.stream(changesPath)
        await stop()
        assert.match(reply.headers.get('content-type') ?? '', new RegExp(`^${eventStreamType}\\b`))
        const [first, ...events] = await declared(trial, '', {}, ['a', 'b'])
        assert.equal(first!.kind, 'token')
        assert.ok(first!.id)
        assert.equal((JSON.parse(first!.data) as { token: string }).token, first!.id)
        const messages = events.filter(({ kind }) => kind === 'message')
        assert.equal(messages.length, 2)
        for (const [i, { id, data }] of messages.entries()) {
          // The caller may be told that a change is its own.
          const { token, timestamp_millis, transaction_id, changes, principal, request_id, ...more } =
            JSON.parse(data)
          assert.ok(principal === undefined || typeof principal === 'string')
          assert.ok(request_id === undefined || typeof request_id === 'string')
          assert.deepEqual({ token, more }, { token: id, more: {} })
          assert.equal(typeof transaction_id, 'string')
          assert.ok(Number.isSafeInteger(timestamp_millis))
          const expected = { operation: 'DeclareTable', kind: 'table', effect: 'created' }
          assert.deepEqual(changes, [{ ...expected, id: [trial.home, ['a', 'b'][i]] }])
        }
      },
    ),
    rule(
      'http.changes-resume',
      source,
      'A stream goes on behind the token in since, or in the header Last-Event-ID, which goes first.',
      needs,
      async (trial: HttpTrial) => {
        const [begun, first] = await declared(trial, '', {}, ['a', 'b'])
        const [start, a] = [begun!.id!, first!.id!]
        const since = (token: string) => `&since=${encodeURIComponent(token)}`
        assert.deepEqual(namesIn(await declared(trial, since(a), {}, ['c'])), ['b', 'c'])
        const headers = { [lastEventHeader]: a }
        assert.deepEqual(namesIn(await declared(trial, '', headers, ['d'])), ['b', 'c', 'd'])
        assert.deepEqual(namesIn(await declared(trial, since(start), headers, ['e'])), ['b', 'c', 'd', 'e'])
        await refusedStream(trial, `${changesPath}?since=none`, {}, 400, 'InvalidInput')
      },
    ),
    rule(
      'http.changes-strangers',
      source,
      'Without valid credentials the stream is 401.',
      [...needs, 'token'],
      async (trial: HttpTrial) => {
        for (const token of [null, 'not the token', `${trial.token}x`])
          await refusedStream(trial, changesPath, { token }, 401, 'Unauthenticated')
      },
    ),
  ],
}
