import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { parse, stringify } from '../../../src/iceberg/json.ts'
import {
  checkViewRequirements,
  newViewMetadata,
  type ViewMetadata,
} from '../../../src/iceberg/metadata/view-metadata.ts'
import { checkViewMetadata } from './at-once.ts'
import {
  addSchema,
  addVersion,
  apply,
  keep,
  now,
  schemaOf,
  setCurrent,
  setLocation,
  setProperties,
  sql,
  uuid,
  version,
  view,
} from './views.ts'

const id = fc.integer({ min: -1, max: 8 })
const representations = fc.uniqueArray(
  fc
    .tuple(fc.constantFrom('select 1', 'select 2'), fc.constantFrom('spark', 'trino', 'Spark'))
    .map(([text, dialect]) => sql(text, dialect)),
  { maxLength: 3, selector: ({ dialect }) => dialect },
)
const versions = fc
  .tuple(id, id, representations, fc.constantFrom({}, { a: '1' }), fc.bigInt({ min: 0n, max: 2n ** 62n }))
  .map(([versionId, schemaId, queries, summary, time]) =>
    version(versionId, '', {
      'schema-id': schemaId,
      representations: queries,
      summary,
      'timestamp-ms': Number.isSafeInteger(Number(time)) ? Number(time) : time,
    }),
  )
const updates = fc.oneof(
  { weight: 4, arbitrary: versions.map(addVersion) },
  { weight: 4, arbitrary: id.map(setCurrent) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('x', 'y', 'z'), id)
      .map(([name, at]) => addSchema(schemaOf(name, at))),
  },
  fc.constantFrom('1', '2', '3', '0').map(keep),
  fc.boolean().map((allowed) => setProperties({ 'replace.drop-dialect.allowed': String(allowed) })),
  fc.constantFrom('location', 'other/').map((location) => ({ action: 'set-location', location })),
  fc.constant({ action: 'remove-properties', removals: ['replace.drop-dialect.allowed'] }),
  fc.constant({ action: 'assign-uuid', uuid }),
  fc.constant({ action: 'upgrade-format-version', 'format-version': 1 }),
)
const commits = fc.array(fc.array(updates, { maxLength: 4 }), { maxLength: 12 })
const start = view(addVersion(version(1, 'select 1')), setCurrent(1))

/** Nothing below it can be changed: an attempt throws a TypeError. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value)
    for (const inner of Object.values(value)) frozen(inner)
  }
  return value
}

/** What a call gives, and undefined where it refuses. Any other error fails the test. */
function resultOf<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof IcebergError || error instanceof CatalogError) return undefined
    throw error
  }
}

function checkInvariants(before: ViewMetadata, after: ViewMetadata, commit: readonly unknown[]): void {
  expect(checkViewMetadata(after)).toBe(after)
  expect(parse(stringify(after))).toEqual(after)
  expect(after['view-uuid']).toBe(before['view-uuid'])

  const ids = after.versions.map((one) => one['version-id'])
  const log = after['version-log'].map((entry) => entry['version-id'])
  expect(log.at(-1)).toBe(after['current-version-id'])
  for (const logged of log) expect(ids).toContain(logged)

  // Nobody changes what has an id.
  const known = new Map(before.versions.map((one) => [one['version-id'], one]))
  for (const one of after.versions) expect(known.get(one['version-id']) ?? one).toBe(one)
  expect(after.schemas.slice(0, before.schemas.length)).toEqual(before.schemas)

  const added = commit.filter((update) => (update as { action: string }).action === 'add-view-version').length
  const kept = Number(after.properties?.['version.history.num-entries'] ?? 10)
  expect(ids.length).toBeLessThanOrEqual(Math.max(kept, added + 1))
}

describe('whatever commits are made', () => {
  test('the metadata stays right, and its base as it was', () => {
    fc.assert(
      fc.property(commits, (all) => {
        let base = frozen(start)
        for (const commit of frozen(all)) {
          const text = stringify(base)
          const next = resultOf(() => apply(base, commit))
          expect(stringify(base)).toBe(text)
          if (next === undefined || next === base) continue
          checkInvariants(base, next, commit)
          expect(stringify(apply(base, commit))).toBe(stringify(next))
          base = frozen(next)
        }
      }),
      { numRuns: 150 },
    )
  })

  test('a view of one commit is a view', () => {
    fc.assert(
      fc.property(fc.array(updates, { maxLength: 8 }), (commit) => {
        const made = resultOf(() => apply(undefined, frozen([setLocation, addSchema(), ...commit])))
        if (made !== undefined) expect(checkViewMetadata(made)).toBe(made)
      }),
    )
  })
})

const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(undefined, Number.NaN, 1e300, -0, 2 ** 31, 2 ** 53, 2n ** 63n, -1n, '', '\u0000'),
  fc.constantFrom<unknown>(
    [],
    {},
    [null],
    { type: 'struct' },
    { type: 'struct', fields: [] },
    { __proto__: null },
  ),
  fc.jsonValue(),
  fc.bigInt({ min: 1n << 60n, max: 1n << 70n }),
  fc.nat({ max: 200 }).map((depth) => {
    let value: unknown = {}
    for (let level = 0; level < depth; level++) value = { fields: [value] }
    return value
  }),
)

/** A copy of a value with some of what is in it replaced. */
function damaged(value: unknown, choices: readonly { at: number; with: unknown }[]): unknown {
  let copy = structuredClone(value)
  for (const choice of choices) {
    const holders = holdersIn(copy)
    if (holders.length === 0) return choice.with
    const [holder, name] = holders[choice.at % holders.length]!
    if (choice.with === undefined) delete holder[name]
    else holder[name] = choice.with
    copy = structuredClone(copy)
  }
  return copy
}

function holdersIn(value: unknown): [Record<string, unknown>, string][] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, unknown>
  return Object.keys(holder).flatMap(
    (name) => [[holder, name], ...holdersIn(holder[name])] as [typeof holder, string][],
  )
}

const damage = fc.array(fc.record({ at: fc.nat(), with: odd }), { minLength: 1, maxLength: 3 })
const rich = apply(start, [
  addSchema({ ...schemaOf('y', 0, 2), 'identifier-field-ids': [2] }),
  addVersion(version(2, 'select 2', { 'default-catalog': 'prod', 'schema-id': -1 })),
  setCurrent(2),
  setProperties({ comment: 'x', 'version.history.num-entries': '3' }),
])

describe('whatever JSON arrives', () => {
  test('it is refused, or is a view', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          damage.map((choices) => damaged(rich, choices)),
          odd,
        ),
        (json) => {
          const metadata = resultOf(() => checkViewMetadata(json))
          if (metadata === undefined) return
          stringify(metadata)
          expect(checkViewMetadata(metadata)).toBe(metadata)
          const next = resultOf(() => apply(metadata, [addVersion(version(9, 'select 9')), setCurrent(-1)]))
          if (next !== undefined) expect(checkViewMetadata(next)).toBe(next)
        },
      ),
      { numRuns: 150 },
    )
  })

  test('updates are refused, or make a view', () => {
    const commit = [
      { action: 'assign-uuid', uuid },
      { action: 'upgrade-format-version', 'format-version': 1 },
      addSchema(schemaOf('z')),
      addVersion(version(1, 'select 3', { 'default-catalog': 'prod', 'schema-id': -1 })),
      setCurrent(-1),
      setLocation,
      keep('2'),
      { action: 'remove-properties', removals: ['comment'] },
    ]
    const asked = fc.oneof(
      damage.map((choices) => damaged(commit, choices)),
      odd,
    )
    fc.assert(
      fc.property(asked, fc.constantFrom(undefined, frozen(rich)), (json, base) => {
        const made = resultOf(() => apply(base, json as unknown[]))
        if (made !== undefined) expect(parse(stringify(checkViewMetadata(made)))).toEqual(made)
      }),
      { numRuns: 150 },
    )
  })

  test('a request for a view is refused, or makes one', () => {
    const request = { schema: schemaOf('x'), viewVersion: version(1, 'select 1'), properties: { a: 'b' } }
    fc.assert(
      fc.property(damage, (choices) => {
        const asked = damaged(request, choices) as typeof request
        const made = resultOf(() => newViewMetadata({ ...asked, location: 's3://b/v', uuid, now }))
        if (made !== undefined) expect(parse(stringify(checkViewMetadata(made)))).toEqual(made)
      }),
      { numRuns: 150 },
    )
  })

  test('requirements are refused, or hold', () => {
    const asked = fc.oneof(
      damage.map((choices) => damaged([{ type: 'assert-view-uuid', uuid }], choices)),
      odd,
    )
    fc.assert(
      fc.property(asked, fc.constantFrom(undefined, rich), (json, base) => {
        resultOf(() => checkViewRequirements(json as unknown[], base))
      }),
      { numRuns: 150 },
    )
  })
})
