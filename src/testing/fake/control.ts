import type { FastifyInstance } from 'fastify'
import * as v from 'valibot'
import { CatalogError, invalid } from '../../errors.ts'
import type { Extend } from '../../http/server.ts'
import { type OperationName, operations } from '../../operations/index.ts'
import type { Call } from './calls.ts'
import type { FakeCatalog } from './catalog.ts'
import type { Fault } from './fault.ts'
import type { FaultHandle } from './faults.ts'
import type { Seed } from './seed.ts'

/*
 * The routes by which a test in another process controls a fake. Callers are let in as for operations; bodies
 * are JSON whatever their content type says, so that a bare `curl -d` does.
 */

const bodyLimit = 16 * 1024 * 1024
const mostCalls = 10_000

const moment = v.union([v.number(), v.string()])
const clockSchema = v.union(
  [v.strictObject({ advance: v.number() }), v.strictObject({ set: moment })],
  'The clock takes { "advance": milliseconds } or { "set": milliseconds since the epoch, or an ISO date }.',
)

/** What the requests of the routes bring. */
interface Asked {
  readonly body: unknown
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string | undefined>>
}

type Answer = (fake: FakeCatalog, asked: Asked) => unknown

const routes: Readonly<Record<string, Answer>> = {
  'GET ': stateOf,
  'POST reset': (fake) => {
    fake.reset()
    return stateOf(fake)
  },
  'POST seed': async (fake, { body }) => {
    await fake.seed(body as Seed)
    return stateOf(fake)
  },
  'GET clock': ({ clock }) => timeOf(clock.now()),
  'POST clock': ({ clock }, { body }) => {
    const asked = v.safeParse(clockSchema, body)
    if (!asked.success) throw invalid(asked.issues[0].message)
    if ('advance' in asked.output) clock.advance(asked.output.advance)
    else clock.set(asked.output.set)
    return timeOf(clock.now())
  },
  'GET faults': ({ faults }) => ({ faults: faults.all.map(describeFault) }),
  'POST faults': ({ faults }, { body }) => {
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw invalid(
        'A fault is an object, such as { "operation": "createTable", "fail": "ServiceUnavailable" }.',
      )
    return describeFault(faults.add(body as Fault))
  },
  'DELETE faults': async ({ faults }) => {
    await faults.clear()
    return { faults: [] }
  },
  'DELETE faults/:id': async ({ faults }, { params }) => {
    const fault = find(faults.all, params.id)
    await fault.remove()
    return describeFault(fault)
  },
  'POST faults/:id/release': async ({ faults }, { params }) => {
    const fault = find(faults.all, params.id)
    await fault.release()
    return describeFault(fault)
  },
  'GET calls': ({ calls }, { query }) => {
    const found = calls.of(...namesIn(query.operation))
    const limit = limitIn(query.limit)
    return { total: found.length, dropped: calls.dropped, calls: found.slice(-limit).map(describeCall) }
  },
  'DELETE calls': ({ calls }) => {
    calls.clear()
    return { calls: [] }
  },
}

/** Adds the routes to the server of a fake. */
export function controlRoutes(fake: FakeCatalog): Extend {
  return (app, admit) => {
    app.register(async (scope: FastifyInstance) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser(
        '*',
        { parseAs: 'string', bodyLimit },
        async (_request: unknown, text: string) => parse(text),
      )
      scope.addHook('onRequest', admit)
      for (const [route, answer] of Object.entries(routes)) {
        const [method, path] = route.split(' ') as ['GET' | 'POST' | 'DELETE', string]
        scope.route({
          method,
          url: `/_control${path === '' ? '' : `/${path}`}`,
          handler: async ({ body, params, query }, reply) => {
            const told = await answer(fake, { body, params, query } as Asked)
            return reply.type('application/json; charset=utf-8').send(toJson(told))
          },
        })
      }
    })
  }
}

function parse(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid(`The body is no JSON: ${(cause as Error).message}. Send one JSON object.`, { cause })
  }
}

function stateOf({ clock, calls, faults }: FakeCatalog) {
  return { clock: timeOf(clock.now()), calls: calls.length, faults: faults.all.map(describeFault) }
}

function timeOf(now: number) {
  return { now, iso: new Date(now).toISOString() }
}

function describeFault({ id, fault, seen, fired }: FaultHandle) {
  const { match: _, fail, ...written } = fault
  return { id, seen, fired, fault: { ...written, ...(fail ? { fail: describeError(fail) } : {}) } }
}

function describeCall({ startedAt, endedAt, error, ...call }: Call) {
  return {
    ...call,
    ...(call.outcome === 'failed' ? { error: describeError(error) } : {}),
    started_at: startedAt,
    ended_at: endedAt,
  }
}

function describeError(error: unknown): unknown {
  if (error instanceof CatalogError) return { code: error.code, number: error.number, message: error.message }
  return error instanceof Error ? { message: error.message } : error
}

/** As JSON; bytes are told by their number. */
function toJson(told: unknown): string {
  return JSON.stringify(told, function (this: Record<string, unknown>, key, value) {
    const original = this[key]
    if (original instanceof Uint8Array) return { bytes: original.byteLength }
    return typeof value === 'bigint' ? value.toString() : value
  })
}

function find(all: readonly FaultHandle[], id: string | undefined): FaultHandle {
  const found = all.find((fault) => fault.id === id)
  if (found) return found
  throw invalid(`There is no fault ${JSON.stringify(id)}. GET /_control/faults lists those in force.`)
}

function namesIn(text: string | undefined): OperationName[] {
  if (text === undefined || text === '') return []
  const names = text.split(',')
  const unknown = names.find((name) => !Object.hasOwn(operations, name))
  if (unknown !== undefined)
    throw invalid(`operation: ${JSON.stringify(unknown)} is the name of none. Write it as in createTable.`)
  return names as OperationName[]
}

function limitIn(text = '100'): number {
  const limit = Number(text)
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= mostCalls) return limit
  throw invalid(`limit must be a whole number from 1 to ${mostCalls.toLocaleString('en')}.`)
}
