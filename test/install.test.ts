import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Manifest {
  readonly engines?: { readonly node?: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

interface Locked extends Manifest {
  readonly dev?: boolean
  readonly devOptional?: boolean
}

const json = (name: string) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'))
const manifest = json('package.json') as Manifest
const { packages } = json('package-lock.json') as { packages: Readonly<Record<string, Locked>> }

/** The parts of a version; those that are not written are 0. */
function parts(version: string): [number, number, number] {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number(part) || 0)
  return [major, minor, patch]
}

/** Whether a range of versions, as `engines` of packages have them, holds a version. */
function holds(range: string, version: string): boolean {
  const at = parts(version)
  return range.split('||').some((alternative) => {
    const [, operator, least] = /^\s*(>=|\^|~)?\s*v?([\d.x*]+)\s*$/.exec(alternative) ?? []
    // A range of another form needs more of this test.
    if (least === undefined) throw new Error(`${range} is not understood here`)
    const from = parts(least)
    const isBelow = from.findIndex((part, i) => part !== at[i])
    if (isBelow >= 0 && at[isBelow]! < from[isBelow]!) return false
    return operator === '>=' || least === '*' || from[0] === at[0]
  })
}

test('ranges are read as npm reads them', () => {
  const held = [
    '>=20',
    '>= 10.x',
    '^18.17.0 || ^20.3.0 || >=21.0.0',
    '^20.19.0 || >=22.12.0',
    '20.x',
    '*',
    '>=20.19.0',
  ]
  const others = ['>=22', '>=20.19.1', '^18', '^20.20.0 || >=22', '>=21.0.0']
  expect(held.filter((range) => !holds(range, '20.19.0'))).toEqual([])
  expect(others.filter((range) => holds(range, '20.19.0'))).toEqual([])
})

test('everything that users install runs on the oldest Node that is promised', () => {
  const oldest = /^>=([\d.]+)$/.exec(manifest.engines!.node!)![1]!
  const installed = Object.entries(packages).filter(
    ([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional,
  )
  expect(installed.length).toBeGreaterThan(10)
  const refused = installed.filter(([, { engines }]) => engines?.node && !holds(engines.node, oldest))
  expect(refused.map(([path, { engines }]) => `${path} wants ${engines!.node}`)).toEqual([])
})

test.each([
  ['fastify', 'mount the plugin'],
  ['jose', 'let servers check JSON Web Tokens'],
  ['prom-client', 'ask servers for metrics'],
  ['@modelcontextprotocol/sdk', 'offer a catalog to language models'],
  ['@aws-sdk/client-s3', 'keep rows in S3'],
  ['@azure/storage-blob', 'keep rows in Azure'],
  ['@google-cloud/storage', 'keep rows in Google Cloud Storage'],
  ['@azure/identity', 'sign in there without a key'],
  ['@lancedb/lancedb', 'read rows that Lance wrote'],
])('%s is installed by those who %s', (name) => {
  expect(manifest.dependencies).not.toHaveProperty(name)
  expect(manifest.peerDependencies).toHaveProperty(name)
  expect(manifest.peerDependenciesMeta?.[name]?.optional).toBe(true)
})
