import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type Content, openCatalog } from '../../../src/tabularium/index.ts'
import { fixture } from '../../engine/arrow/fixtures.ts'
import { contentWith } from '../../support/contents.ts'
import { limitEach } from '../../support/time-limit.ts'

// Each run writes and reads a table of all types, several times.
limitEach(120)

/*
 * A caller and a content may give bytes in any form that is a Uint8Array: a view at any address, a Buffer, whose methods
 * differ, or a view of memory that threads share. None may change what is stored, or what is read.
 */

class OwnBytes extends Uint8Array {}

const forms = {
  'a view': (length: number) => new Uint8Array(length),
  'a Buffer': (length: number) => Buffer.allocUnsafeSlow(length),
  'a Buffer of the pool': (length: number) => Buffer.allocUnsafe(length),
  'an own class': (length: number) => new OwnBytes(length),
  'a view of shared memory': (length: number) => new Uint8Array(new SharedArrayBuffer(length)),
}

interface Form {
  readonly form: keyof typeof forms
  /** Where the bytes begin in their memory. */
  readonly offset: number
}

const anyForm = fc.record({
  form: fc.constantFrom(...(Object.keys(forms) as (keyof typeof forms)[])),
  offset: fc.nat(15),
})

function formed({ form, offset }: Form, bytes: Uint8Array): Uint8Array {
  const memory = forms[form](offset + bytes.length + 1)
  // What lies beside the bytes must not be read.
  memory.fill(0xa5)
  memory.set(bytes, offset)
  return memory.subarray(offset, offset + bytes.length)
}

/** A content whose bytes have this form. */
function contentOf(form: Form, hasRanges: boolean): Content {
  const real = memoryContent()
  const get: Content['get'] = async (path, range) => {
    const bytes = await real.get(path, range)
    return bytes && formed(form, bytes)
  }
  return contentWith(real, {
    get,
    ...(hasRanges && { getRanges: (path, ranges) => Promise.all(ranges.map((range) => get(path, range))) }),
  })
}

const id = ['t']
const keys = ['i8', 'u64', 'f64', 's', 'ls', 'sv', 'bin', 'd64', 'ts', 'd128', 'dict', 'bool']

/** Rows whose bitmaps have many words, with nulls in each column. */
async function longRows(): Promise<Uint8Array> {
  await using catalog = await openCatalog('memory:')
  const unless = <T>(isNull: boolean, value: T) => (isNull ? null : value)
  const data = Array.from({ length: 3_000 }, (_, n) => ({
    n: unless(n % 5 === 0, n),
    flag: unless(n % 7 === 0, n % 3 === 0),
    half: unless(n % 11 === 0, n / 2),
    name: unless(n % 13 === 0, `name ${n}`),
    list: unless(n % 17 === 0, [n, n + 1]),
  }))
  await catalog.createTable({ id, data })
  return (await catalog.queryTable({ id })).data
}

const predicates = [
  'n > 1000',
  'flag',
  'NOT flag AND half < 700',
  'half IS NULL OR n = 7',
  "name LIKE '%99%'",
  'n % 3 = 1 AND length(name) > 7',
  "name IN ('name 5', 'name 2999') OR list[1] = 18",
]

/** What a catalog answers to a series of calls with these bytes, whose forms are drawn. */
async function answers(content: Content, given: (name: string) => Uint8Array): Promise<unknown[]> {
  await using catalog = await openCatalog({ store: memoryStore(), content, cacheBytes: 0 })
  const all: unknown[] = []
  const query = async (request: object) => {
    const { data } = await catalog.queryTable({ id, ...request })
    all.push(createHash('sha256').update(data).digest('hex'))
  }
  const look = async () => {
    await query({})
    for (const key of keys) {
      await query({ columns: [key, 'st'], order_by: [{ column_name: key }], limit: 4 })
      const { count } = await catalog.countTableRows({ id, predicate: `${key} IS NOT NULL` })
      all.push(count)
    }
    all.push((await catalog.countTableRows({ id, predicate: 'f64 > 1 AND i8 <> 3' })).count)
    await query({ filter: "s = 'é' OR u64 = 5", columns: ['st', 'l', 'd128'] })
  }
  const long = ['long']
  await catalog.createTable({ id: long, data: given('long') })
  await catalog.insertIntoTable({ id: long, data: given('long') })
  await catalog.deleteFromTable({ id: long, predicate: 'n = 77' })
  for (const predicate of predicates) {
    await query({ id: long, filter: predicate })
    all.push((await catalog.countTableRows({ id: long, predicate })).count)
  }
  await catalog.createTable({ id, data: given('types.arrows') })
  await catalog.insertIntoTable({ id, data: given('types.arrow') })
  await look()
  await catalog.insertIntoTable({ id, data: given('types-zstd.arrows') })
  await catalog.deleteFromTable({ id, predicate: 'i8 = 3' })
  await catalog.updateTable({ id, predicate: 'i8 = 4', updates: [['s', "concat(s, '!')"]] })
  await look()
  await catalog.optimizeTable({ id })
  await look()
  return all
}

it('bytes in any form are those that were given', async () => {
  const long = await longRows()
  const bytesOf = (name: string) => (name === 'long' ? long : fixture(name))
  const expected = await answers(memoryContent(), bytesOf)
  await fc.assert(
    fc.asyncProperty(anyForm, anyForm, fc.boolean(), async (ofContent, ofCaller, hasRanges) => {
      const found = await answers(contentOf(ofContent, hasRanges), (name) => formed(ofCaller, bytesOf(name)))
      expect(found).toEqual(expected)
    }),
    { numRuns: 8 * Number(process.env.HISTORY_RUNS ?? 1), endOnFailure: true },
  )
})
