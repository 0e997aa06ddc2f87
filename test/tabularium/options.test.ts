import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryContent } from '../../src/contents/memory/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type DirectoryCatalogOptions, openCatalog } from '../../src/tabularium/index.ts'
import { fakeCatalog } from '../../src/testing/index.ts'
import { closedAfterwards, freshFolder } from '../support/catalogs.ts'
import { fails } from '../support/refusals.ts'

type Name = keyof DirectoryCatalogOptions
// biome-ignore lint/suspicious/noExplicitAny: an oracle takes whatever is given.
type Oracle = (given: any) => boolean

const isFunction: Oracle = (given) => typeof given === 'function'
const isBoolean: Oracle = (given) => given === true || given === false
const isText: Oracle = (given) => typeof given === 'string' && given.length > 0
const isCount =
  (least: number, most = 2 ** 53 - 1): Oracle =>
  (given) =>
    typeof given === 'number' && given % 1 === 0 && given >= least && given <= most
const isAmount =
  (most: number): Oracle =>
  (given) =>
    typeof given === 'number' && given >= 0 && given <= most

/** Whether an object has only these members, each as its oracle says. */
const isOf =
  (members: Readonly<Record<string, Oracle>>, needed: readonly string[] = []): Oracle =>
  (given) =>
    Object.prototype.toString.call(given) === '[object Object]' &&
    needed.every((name) => given[name] !== undefined) &&
    Object.keys(given).every(
      (name) => given[name] === undefined || (Object.hasOwn(members, name) && members[name]!(given[name])),
    )

/** What each option takes. */
const rights: { readonly [Option in Name]-?: Oracle } = {
  authorize: isFunction,
  storageOptions: isFunction,
  managedVersioning: isBoolean,
  format: (given) => given === 'arrow' || given === 'lance',
  lance: (given) =>
    isOf({
      isolate: isBoolean,
      memoryBytes: isCount(2 ** 28),
      callMillis: isCount(1, 2 ** 31 - 1),
      idleMillis: isCount(1, 2 ** 31 - 1),
    })(given) &&
    (given.isolate === true || Object.values(given).every((value) => typeof value !== 'number')),
  locationRoots: (given) => Array.isArray(given) && given.length === 0,
  tableRoot: (given) => isText(given) && /^(?:\/|[a-z][\w+.-]+:)/i.test(given),
  transactionAge: isAmount(2 ** 53 - 1),
  transactionCount: isCount(1),
  arrowBytes: isCount(1),
  decodedBytes: isCount(1),
  resultBytes: isCount(1),
  queryColumns: isCount(1),
  orderKeys: isCount(1),
  growthBytes: isCount(0),
  cacheBytes: isCount(0),
  // Never right where the rows are nearby.
  contentCache: () => false,
  threads: isCount(0, 64),
  openTransactions: isOf({
    count: isCount(0),
    perPrincipal: isCount(0),
    bytes: isCount(0),
    bytesPerPrincipal: isCount(0),
    idleSeconds: (given) => typeof given === 'number' && given > 0 && given <= 86_400,
  }),
  concurrency: isCount(1),
  optimize: (given) =>
    given === 'off' ||
    given === 'background' ||
    isOf({
      every: isCount(2),
      targetRows: isCount(1),
      targetBytes: isCount(1),
      minDeletedShare: isAmount(1),
    })(given),
  retainDropped: isAmount(3650 * 86_400_000),
  retention: isOf({ versions: isCount(1, 1e9), age: isAmount(3650 * 86_400_000) }),
  onError: isFunction,
  now: isFunction,
  newId: isFunction,
  content: () => false,
  readOnly: isBoolean,
}

const members = ['isolate', 'memoryBytes', 'callMillis', 'folder', 'bytes', 'count', 'idleSeconds', 'every']
const more = ['targetRows', 'minDeletedShare', 'versions', 'age', 'other']

const scalar = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, '', 'lanse', 'Arrow', 'on', '10', 'ftp://x/y', 'nowhere'),
  fc.constantFrom<unknown>(Number.NaN, Infinity, -1, -0.5, 0, 0.5, 1, 1.5, 65, 2 ** 53, 1e300, 10n),
  fc.string({ maxLength: 8 }),
  fc.integer(),
  fc.double(),
)
const value = fc.oneof(
  { weight: 3, arbitrary: scalar },
  fc.array(scalar, { maxLength: 2 }),
  fc.dictionary(fc.constantFrom(...members, ...more), scalar, { maxKeys: 2 }),
  fc.constant(() => 1),
)

describe('a wrong value of an option', () => {
  it('is refused by its name, and leaves no folder', async () => {
    const folder = await freshFolder()
    const names = Object.keys(rights) as Name[]
    const seen = new Set<string>()
    let count = 0
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), value, async (name, given) => {
        fc.pre(given !== undefined && !rights[name](given))
        seen.add(name)
        const parent = join(folder, String(++count))
        const error = await openCatalog(join(parent, 'catalog'), { [name]: given }).then(
          async (catalog) => {
            await catalog.close()
            throw new Error(`${name} took ${String(given)}`)
          },
          (error) => error,
        )
        expect(error).toMatchObject({ code: 'InvalidInput' })
        // That of `content` and `tableRoot` says what a URL is like.
        if (!/^(?:content|tableRoot)$/.test(name)) expect(error.message).toContain(name)
        expect(existsSync(parent)).toBe(false)
      }),
      { numRuns: 1_000 },
    )
    expect([...seen].sort()).toEqual([...names].sort())
  })

  it('is refused by catalogs over an own store, and by fakes', async () => {
    const store = memoryStore()
    for (const wrong of [{ format: 'lanse' }, { cacheBytes: '1' }, { retention: { versions: 0 } }]) {
      const own = { store, content: memoryContent(), ...wrong } as never
      await fails(openCatalog(own), 'InvalidInput', Object.keys(wrong)[0]!)
      await fails(fakeCatalog(wrong as never), 'InvalidInput', Object.keys(wrong)[0]!)
    }
    const cache = { store, content: memoryContent(), contentCache: { folder: await freshFolder() } }
    await fails(openCatalog(cache), 'InvalidInput', 'contentCache')
    expect(await store.read((reader) => [...reader.range({ start: [] })])).toEqual([])
  })

  it('leaves no folder where only the disk tells that it is wrong', async () => {
    const folder = await freshFolder()
    const owned = pathToFileURL(await freshFolder()).href
    closedAfterwards(await openCatalog(await freshFolder(), { content: owned }))
    const stray = await freshFolder()
    await mkdir(join(stray, 'tables'))
    await writeFile(join(stray, 'tables', 'object'), '')
    const open = join(await freshFolder(), 'open')
    await mkdir(open)
    await chmod(open, 0o777)
    const attempts: [DirectoryCatalogOptions, string][] = [
      [{ content: owned }, 'belongs to another catalog'],
      [{ content: pathToFileURL(stray).href }, 'belong to no catalog'],
      [{ locationRoots: [join(folder, 'missing')] }, 'locationRoots'],
      [{ contentCache: { folder: join(open, 'cache') } }, 'contentCache'],
    ]
    for (const [options, told] of attempts) {
      await fails(openCatalog(join(folder, 'new'), options), 'InvalidInput', told)
      expect(await readdir(folder)).toEqual([])
    }
  })
})
