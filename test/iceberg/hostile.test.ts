import { request as send } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { errorStatuses } from '../../src/iceberg/errors.ts'
import { parse } from '../../src/iceberg/json.ts'
import { endpoints } from '../../src/iceberg/rest/router.ts'
import { Draw } from '../support/draw.ts'
import { limitEach } from '../support/time-limit.ts'
import { bodies, viewVersion } from './attack-requests.ts'
import { schema, servedFake } from './rest.ts'

limitEach(120)

const runs = Number(process.env.HOSTILE_RUNS ?? 1)
const seed = Number(process.env.FC_SEED ?? 20_261_127)

const nested = (open: string, close: string, depth: number) => parse(open.repeat(depth) + close.repeat(depth))

/** Values that a member may have in place of its own. */
const values: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => -1,
  () => 1.5,
  () => 1e308,
  () => 2 ** 53,
  () => '',
  () => 'NaN',
  () => '\ud800',
  () => '__proto__',
  () => '\u0000',
  () => '../..',
  () => 'n'.repeat(5_000),
  () => [],
  () => [null],
  () => ({}),
  () => ({ '': {} }),
  () => parse('{"__proto__":{"a":1}}'),
  () => Array.from({ length: 3_000 }, () => 'x'),
  () => nested('[', ']', 120),
]

/** A copy with one member changed, left out or added anywhere in it. */
function mutated(value: unknown, draw: Draw): unknown {
  const isList = Array.isArray(value)
  if (typeof value !== 'object' || value === null || draw.chance(0.15)) return draw.oneOf(values)()
  const entries = Object.entries(value)
  const at = draw.below(entries.length + 1)
  const changed = entries.flatMap(([key, member], i): [string, unknown][] => {
    if (i !== at) return [[key, member]]
    return draw.chance(0.15) ? [] : [[draw.chance(0.05) ? key.toUpperCase() : key, mutated(member, draw)]]
  })
  if (at === entries.length)
    changed.push([draw.oneOf(['more', '__proto__', 'constructor', '']), draw.oneOf(values)()])
  if (isList) return changed.map(([, member]) => member)
  const copy: Record<string, unknown> = {}
  for (const [key, member] of changed)
    Object.defineProperty(copy, key, { value: member, enumerable: true, configurable: true, writable: true })
  return copy
}

/** A body as text or bytes, often damaged on the way. */
function written(body: unknown, draw: Draw): string | Buffer {
  const text = JSON.stringify(body) ?? ''
  if (draw.chance(0.8)) return text
  return draw.oneOf<() => string | Buffer>([
    () => text.slice(0, draw.below(text.length + 1)),
    () => text.replace(/\d+/, '9'.repeat(1_500)),
    () => text.replace(/\d+/, 'NaN'),
    () => text.replace('{', '{"name":"first","name":"second",'),
    () =>
      Buffer.concat([Buffer.from(text.slice(0, 5)), Buffer.from([0xff, 0xfe]), Buffer.from(text.slice(5))]),
    () => gzipSync(text),
    () => '',
  ])()
}

const segments = [
  'prod',
  'a',
  'none',
  '%',
  '%zz',
  '%c3',
  '%00',
  '%1F',
  'a%1F',
  '..',
  '%2e%2e',
  '%ED%A0%80',
  '$',
  'x'.repeat(3_000),
]
const types = ['text/plain', 'application/x-www-form-urlencoded', '', 'application/json; charset=utf-16']
const queries = [
  '',
  '',
  '',
  '?pageSize=0',
  '?pageSize=1e9',
  '?pageToken=x',
  '?pageToken=&pageToken=',
  '?snapshots=no',
  '?parent=%1F',
  '?%',
]

function drawn(index: number, draw: Draw) {
  const endpoint = endpoints[index % endpoints.length]!
  const { name, method, path } = endpoint
  const variable = (usual: string) => (draw.chance(0.75) ? usual : draw.oneOf(segments))
  const own = /view/i.test(name) ? 'v' : 'a'
  const aim = { namespace: ['prod'], name: /^(create|register)/.test(name) ? 'new' : own }
  const means = {
    location: 'file:///nowhere/t',
    metadata: 'file:///nowhere/1.metadata.json',
    other: ['prod', 'b'],
  }
  const made = bodies[name]?.(aim, means)
  const body = made && written(draw.chance(0.9) ? mutated(draw.oneOf(made), draw) : draw.oneOf(made), draw)
  const headers = {
    ...(body !== undefined && { 'content-type': draw.chance(0.9) ? 'application/json' : draw.oneOf(types) }),
    ...(Buffer.isBuffer(body) && draw.chance(0.5) && { 'content-encoding': 'gzip' }),
    ...(draw.chance(0.05) && { 'idempotency-key': 'x'.repeat(draw.oneOf([1, 3_000])) }),
    ...(draw.chance(0.05) && { 'x-tabularium-transaction': draw.oneOf(['x', '01ARZ3NDEKTSV4RRFFQ69G5FAV']) }),
    ...(draw.chance(0.05) && { 'if-none-match': draw.oneOf(['*', '"', ',,,,', '"x"'.repeat(900)]) }),
  }
  const target = path.replace('{namespace}', variable('prod')).replace('{name}', variable(own))
  return { name, method, path: target + draw.oneOf(queries), body, headers }
}

function ask(url: string, { method, path, body, headers }: Omit<ReturnType<typeof drawn>, 'name'>) {
  const { hostname, port } = new URL(url)
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = send({ hostname, port, method, path: `/iceberg/v1/${path}`, headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.on('end', () => resolve({ status: answer.statusCode!, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

test('hostile requests to every endpoint are refused by an error that fits, and change nothing', async () => {
  await using server = await servedFake()
  const { rest, catalog } = server
  const draw = new Draw(seed)
  let refused = 0
  const equip = async () => {
    await rest.post('namespaces', { namespace: ['prod'] })
    for (const name of ['a', 'b']) await rest.post('namespaces/prod/tables', { name, schema })
    await rest.post('namespaces/prod/views', { name: 'v', schema, 'view-version': viewVersion })
  }
  await equip()
  const state = async () => {
    const said: unknown[] = [
      await catalog.listAllTables({ include_declared: true }),
      await catalog.listNamespaces({ id: [] }),
      await catalog.describeNamespace({ id: ['prod'] }),
    ]
    for (const name of ['a', 'b', 'v'])
      said.push(await catalog.listTableVersions({ id: ['prod', name] }).catch(({ code }) => code))
    return JSON.stringify(said)
  }
  let before = await state()
  for (let i = 0; i < 500 * runs; i++) {
    const attack = drawn(i, draw)
    const { status, text } = await ask(server.url, attack)
    const about = `${attack.name}, number ${i} of seed ${seed}: ${attack.method} ${attack.path.slice(0, 200)} ${String(attack.body).slice(0, 500)} ${JSON.stringify(attack.headers).slice(0, 300)} was answered ${status}: ${text.slice(0, 500)}`
    expect(status, about).toBeLessThan(500)
    if (status < 400) {
      await equip()
      before = await state()
      continue
    }
    refused++
    if (attack.method !== 'HEAD') {
      const { error } = parse(text) as {
        error: { code: number; type: keyof typeof errorStatuses; message: string }
      }
      expect(error.code, about).toBe(status)
      expect(error.message, about).toMatch(/\S/)
      if (status !== 405) expect([errorStatuses[error.type], about]).toEqual([status, about])
    }
    if (attack.method === 'POST' || attack.method === 'DELETE') expect(await state(), about).toBe(before)
  }
  expect(refused).toBeGreaterThan(200)
  expect((await rest.get('namespaces')).status).toBe(200)
})
