import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Content, SharedFiles } from '../../../src/base/content/content.ts'
import type { MadeVersion } from '../../../src/catalog/lance/own-version.ts'
import { withSchemaMetadata } from '../../../src/catalog/lance/schema-metadata.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { contentWith, eachContent, pathsOf } from '../../support/contents.ts'
import { type Dataset, declared, listed, nameOf } from './support.ts'

/* schema-metadata-clients.test.ts has the same with Lance itself. Here manifests are written and read by other code. */

/** A field of a message, with its wire type. */
type Part = readonly [field: number, value: bigint | Uint8Array]

const text = (value: string) => new TextEncoder().encode(value)

function varint(value: bigint): number[] {
  return value < 128n ? [Number(value)] : [Number(value % 128n) + 128, ...varint(value / 128n)]
}

function encoded([field, value]: Part): Buffer {
  if (typeof value === 'bigint') return Buffer.from([...varint(BigInt(field * 8)), ...varint(value)])
  return Buffer.concat([
    Buffer.from([...varint(BigInt(field * 8 + 2)), ...varint(BigInt(value.length))]),
    value,
  ])
}

const messageOf = (parts: readonly Part[]) => Buffer.concat(parts.map(encoded))

/** The fields of a message, and each as it is written. */
function partsOf(message: Uint8Array): [...Part, written: string][] {
  const parts: [...Part, string][] = []
  for (let at = 0; at < message.length; ) {
    const start = at
    const number = () => {
      let value = 0n
      for (let shift = 0n; ; shift += 7n) {
        const byte = BigInt(message[at++]!)
        value += (byte % 128n) << shift
        if (byte < 128n) return value
      }
    }
    const tag = Number(number())
    const wire = tag % 8
    const take = (length: number) => {
      at += length
      return message.subarray(at - length, at)
    }
    const value = wire === 0 ? number() : take(wire === 1 ? 8 : wire === 5 ? 4 : Number(number()))
    parts.push([Math.floor(tag / 8), value, Buffer.from(message.subarray(start, at)).toString('hex')])
  }
  return parts
}

const withLength = (message: Uint8Array) => {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(message.length)
  return Buffer.concat([length, message])
}

/** A manifest file as Lance writes it: sections, the manifest, its position, the format, the mark. */
function fileOf(sections: readonly Uint8Array[], parts: readonly Part[]): Buffer {
  const before = Buffer.concat(sections)
  const end = Buffer.alloc(16)
  end.writeBigUInt64LE(BigInt(before.length))
  end.writeUInt16LE(2, 10)
  end.write('LANC', 12)
  return Buffer.concat([before, withLength(messageOf(parts)), end])
}

/** What a reader finds in a manifest file, by the positions that it names. */
function opened(file: Uint8Array) {
  const buffer = Buffer.from(file)
  const at = (position: bigint | number) => {
    const start = Number(position) + 4
    return buffer.subarray(start, start + buffer.readUInt32LE(start - 4))
  }
  const position = buffer.readBigUInt64LE(buffer.length - 16)
  const parts = partsOf(at(position))
  expect(Number(position) + 4 + at(position).length + 16).toBe(buffer.length)
  const one = (field: number) => parts.findLast(([number]) => number === field)?.[1]
  const section = (field: number) => {
    const found = one(field)
    return typeof found === 'bigint' ? at(found) : undefined
  }
  const metadata = parts.filter(([number]) => number === 5).map(([, value]) => pairOf(value as Uint8Array))
  return { parts, one, section, metadata, end: buffer.subarray(buffer.length - 8).toString('hex') }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

function pairOf(entry: Uint8Array): [string, string] {
  const parts = partsOf(entry)
  const of = (field: number) => decoder.decode(parts.find(([number]) => number === field)?.[1] as Uint8Array)
  return [of(1), of(2)]
}

/** The version that a transaction went on from, its id, and the pairs by which it replaces others. */
function transactionIn(bytes: Uint8Array) {
  const parts = partsOf(bytes)
  const of = (field: number) => parts.find(([number]) => number === field)?.[1]
  const [field, updates] = partsOf(of(110) as Uint8Array)[0]!
  expect(field).toBe(8)
  const replaced = partsOf(updates as Uint8Array)
  expect(replaced.at(-1)!.slice(0, 2)).toEqual([2, 1n])
  const pairs = replaced.slice(0, -1).map(([number, value]) => {
    expect(number).toBe(1)
    return pairOf(value as Uint8Array)
  })
  return { readVersion: of(1) ?? 0n, uuid: decoder.decode(of(2) as Uint8Array), pairs }
}

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom('', '\u0000', '\ufeff', 'é', '😀', 'x'.repeat(5_000)),
)
const metadatas = fc
  .uniqueArray(fc.tuple(texts, texts), { maxLength: 6, selector: ([key]) => key })
  .map((pairs) => Object.fromEntries(pairs) as Record<string, string>)

const messages = fc.uint8Array({ maxLength: 40 })
/** Fields that stay: known ones, and such that no release has. */
const keptParts = fc.array(
  fc.oneof(
    fc.tuple(fc.constantFrom(1, 2, 13, 15, 16, 18, 19, 20), messages),
    fc.tuple(fc.constantFrom(11, 14), fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })),
    fc.tuple(fc.integer({ min: 24, max: 3_000 }), fc.oneof(messages, fc.bigInt({ min: 0n, max: 1n << 40n }))),
  ) as fc.Arbitrary<Part>,
  { maxLength: 12 },
)

interface Drawn {
  readonly version: number
  readonly kept: readonly Part[]
  readonly indexes: Uint8Array | null
  readonly oldColumns: Uint8Array
  readonly transaction: {
    readonly field: number
    readonly bytes: Uint8Array
    readonly isLast: boolean
  } | null
  readonly old: Readonly<Record<string, string>>
}

const manifests = fc.record({
  version: fc.integer({ min: 0, max: 1_000_000 }),
  kept: keptParts,
  flags: fc.integer({ min: 0, max: 31 }),
  indexes: fc.option(messages),
  oldColumns: messages,
  transaction: fc.option(
    fc.record({ field: fc.constantFrom(21, 23), bytes: messages, isLast: fc.boolean() }),
  ),
  old: metadatas,
})

/** A manifest, and the fields of it that stay. */
function manifestOf(drawn: Drawn, flags: number) {
  const { version, kept, indexes, oldColumns, transaction, old } = drawn
  const sections: Buffer[] = [Buffer.from(oldColumns)]
  const place = (message: Uint8Array) => {
    const position = Buffer.concat(sections).length
    sections.push(withLength(message))
    return BigInt(position)
  }
  const parts: Part[] = [...kept]
  if (transaction && !transaction.isLast) parts.push([transaction.field, place(transaction.bytes)])
  if (indexes) parts.push([6, place(indexes)])
  if (transaction?.isLast) parts.push([transaction.field, place(transaction.bytes)])
  if (flags > 0) parts.push([9, BigInt(flags)], [10, BigInt(flags)])
  const stays = parts.filter(([number]) => number !== 21 && number !== 23)
  parts.push([3, BigInt(version)], [7, messageOf([[1, 5n]])], [8, text('old')], [12, text('old.txn')])
  for (const [key, value] of Object.entries(old))
    parts.push([
      5,
      messageOf([
        [1, text(key)],
        [2, text(value)],
      ]),
    ])
  return { file: fileOf(sections, parts), stays }
}

const next = { uuid: '7f7cbd24-5f3c-4fd5-a4a1-32c8c0b5b0c6', millis: 1_795_000_000_123 }

describe('the manifest with other schema metadata', () => {
  it('has all other fields and sections as they were, and a transaction that says so', () => {
    fc.assert(
      fc.property(manifests, metadatas, metadatas, (drawn, first, second) => {
        const { file, stays } = manifestOf(drawn, drawn.flags)
        const pairs = Object.entries(second)
        const before = { version: drawn.version, manifest: file }
        const between = withSchemaMetadata(before, first, next)!
        const made = withSchemaMetadata(
          { version: drawn.version + 1, manifest: between.manifest },
          second,
          next,
        )!
        const found = opened(made.manifest)
        const written = stays.map((part) => encoded(part).toString('hex'))
        const own = new Set([3, 5, 7, 12, 21, 23])
        expect(found.parts.filter(([number]) => !own.has(number)).map(([, , bytes]) => bytes)).toEqual(
          written,
        )
        expect(found.one(3)).toBe(BigInt(drawn.version + 2))
        expect(found.metadata).toEqual(pairs)
        expect(partsOf(found.one(7) as Uint8Array).map(([, value]) => value)).toEqual([
          1_795_000_000n,
          123_000_000n,
        ])
        if (drawn.indexes) expect(new Uint8Array(found.section(6)!)).toEqual(drawn.indexes)
        expect(found.end).toBe(file.subarray(file.length - 8).toString('hex'))
        const expected = { readVersion: BigInt(drawn.version + 1), uuid: next.uuid, pairs }
        const { name, bytes } = made.transactionFile!
        expect(decoder.decode(found.one(12) as Uint8Array)).toBe(name)
        expect(name).toBe(`${drawn.version + 1}-${next.uuid}.txn`)
        expect(transactionIn(bytes)).toEqual(expected)
        // The section is named by the field that the dataset's writer knows.
        const fields = found.parts
          .map(([number]) => number)
          .filter((number) => number === 21 || number === 23)
        expect(fields).toEqual(drawn.transaction ? [drawn.transaction.field] : [])
        if (drawn.transaction)
          expect(transactionIn(found.section(drawn.transaction.field)!)).toEqual(expected)
        // No change leaves the transaction of the one before.
        const again = withSchemaMetadata(
          { version: drawn.version + 1, manifest: between.manifest },
          first,
          next,
        )!
        expect(again.manifest.length - between.manifest.length).toBeLessThanOrEqual(8)
      }),
      { numRuns: 300 },
    )
  })

  it('has no file of its transaction where the dataset has none', () => {
    const transaction = { field: 23, bytes: text('t'), isLast: true }
    const drawn = { version: 1, kept: [], indexes: null, oldColumns: text(''), transaction, old: {} }
    const made = withSchemaMetadata({ version: 1, manifest: manifestOf(drawn, 32).file }, { a: 'b' }, next)!
    expect(made.transactionFile).toBeUndefined()
    expect(opened(made.manifest).one(12)).toBeUndefined()
    expect(transactionIn(opened(made.manifest).section(23)!).pairs).toEqual([['a', 'b']])
    // A manifest without a section for it has the file all the same: other writers must find it.
    const without = manifestOf({ ...drawn, transaction: null }, 32).file
    expect(withSchemaMetadata({ version: 1, manifest: without }, {}, next)!.transactionFile).toBeDefined()
  })

  it('is not made where a flag is not known', () => {
    fc.assert(
      fc.property(manifests, fc.integer({ min: 64, max: 4_095 }), (drawn, flags) => {
        const { file } = manifestOf(drawn, flags)
        expect(withSchemaMetadata({ version: drawn.version, manifest: file }, {}, next)).toBeUndefined()
      }),
    )
  })

  it('of a damaged file is not made, or is a manifest', () => {
    fc.assert(
      fc.property(manifests, fc.nat(), fc.nat({ max: 255 }), fc.boolean(), (drawn, at, byte, isCut) => {
        const { file } = manifestOf(drawn, drawn.flags)
        const damaged = isCut ? file.subarray(0, at % file.length) : Buffer.from(file)
        if (!isCut) damaged[at % file.length] = byte
        let made: MadeVersion | undefined
        try {
          made = withSchemaMetadata({ version: drawn.version, manifest: damaged }, { a: 'b' }, next)
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError)
          return
        }
        expect(isCut).toBe(false)
        if (made) expect(opened(made.manifest).metadata).toEqual([['a', 'b']])
      }),
      { numRuns: 1_000 },
    )
  })
})

/** A manifest as plain as can be. */
const plain = (version: number, ...more: Part[]) => fileOf([], [[3, BigInt(version)], ...more])

async function withVersion(catalog: LocalCatalog, content: Content, name: string, manifest = plain(1)) {
  const dataset = await declared(catalog, content, name)
  await catalog.createTableVersion({ id: [name], ...(await dataset.stage(1, manifest)) })
  return dataset
}

async function metadataOf(dataset: Dataset, content: Content, version: number, name = nameOf(version)) {
  const file = await content.get(`${dataset.prefix}_versions/${name}`)
  return file && Object.fromEntries(opened(file).metadata)
}

eachContent((openAny) => {
  const open = () => openAny({ managedVersioning: true })
  const id = ['t']

  it('each change is a version of the record and of the files', async () => {
    const { catalog, content } = await open()
    const dataset = await withVersion(catalog, content, 't')
    expect(await catalog.updateTableSchemaMetadata({ id, metadata: { a: '1', b: '' } })).toMatchObject({
      metadata: { a: '1', b: '' },
    })
    await catalog.updateTableSchemaMetadata({ id, metadata: {} })
    const all = [1, 2, 3].map((version) => metadataOf(dataset, content, version))
    expect(await Promise.all(all)).toEqual([{}, { a: '1', b: '' }, {}])
    expect(await listed(catalog, 't')).toEqual([1, 2, 3])
    const paths = await pathsOf(content, dataset.prefix)
    expect(paths.filter((path) => path.includes('.manifest')).length).toBe(3)
    const [transaction] = paths.filter((path) => path.includes(`_transactions/1-`))
    expect(transactionIn((await content.get(transaction!))!).pairs).toEqual([
      ['a', '1'],
      ['b', ''],
    ])
    const { version } = await catalog.describeTableVersion({ id, version: 3 })
    expect(version.manifest_size).toBe((await content.get(`${dataset.prefix}_versions/${nameOf(3)}`))!.length)
  })

  it('many at once are made one after the other, each once', async () => {
    const { catalog, content } = await open()
    const dataset = await withVersion(catalog, content, 't')
    const numbers = Array.from({ length: 8 }, (_, n) => String(n))
    await Promise.all(numbers.map((n) => catalog.updateTableSchemaMetadata({ id, metadata: { n } })))
    const made = await Promise.all(
      numbers.map(async (_, i) => (await metadataOf(dataset, content, i + 2))!.n),
    )
    expect(made.sort()).toEqual(numbers)
    expect(await listed(catalog, 't')).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  it('a dataset whose manifests have names of the old form keeps it', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    await content.put(`${dataset.prefix}_versions/1.manifest`, plain(1))
    await catalog.updateTableSchemaMetadata({ id, metadata: { a: '1' } })
    await catalog.updateTableSchemaMetadata({ id, metadata: { a: '2' } })
    expect(await metadataOf(dataset, content, 3, '3.manifest')).toEqual({ a: '2' })
    expect(await listed(catalog, 't')).toEqual([1, 2, 3])
  })

  it('a transaction over three tables is there whole, or not at all', async () => {
    const { catalog, content } = await open()
    const datasets = [await withVersion(catalog, content, 'x'), await withVersion(catalog, content, 'y')]
    await catalog.createTable({ id: ['own'], data: [{ n: 1 }] })
    const own = () => catalog.describeTable({ id: ['own'], load_detailed_metadata: true })
    const change = (by: string, end: () => void) =>
      catalog.transaction(async (tx) => {
        for (const name of ['x', 'y', 'own', 'x'])
          await tx.updateTableSchemaMetadata({ id: [name], metadata: { by } })
        expect(await listed(tx, 'x')).toEqual([1, 2, 3])
        expect((await content.get(`${datasets[0]!.prefix}_versions/${nameOf(2)}`)) === undefined).toBe(true)
        end()
      })
    const failed = new Error('given up')
    const rolledBack = change('one', () => {
      throw failed
    })
    await expect(rolledBack).rejects.toBe(failed)
    expect([await listed(catalog, 'x'), await listed(catalog, 'y')]).toEqual([[1], [1]])
    expect((await own()).metadata).toEqual({})
    expect((await pathsOf(content)).filter((path) => path.includes('_staged/'))).toEqual([])
    await change('two', () => {})
    expect([await listed(catalog, 'x'), await listed(catalog, 'y')]).toEqual([
      [1, 2, 3],
      [1, 2],
    ])
    for (const dataset of datasets) expect(await metadataOf(dataset, content, 2)).toEqual({ by: 'two' })
    expect((await own()).metadata).toEqual({ by: 'two' })
  })

  it('what cannot be read, or is newer, is refused and stays as it is', async () => {
    const { catalog, content } = await open()
    const whole = plain(1)
    const refused: [string, Buffer, RegExp][] = [
      [
        'cut',
        whole.subarray(1),
        /^The manifest of version 1 of cut is damaged \(.*\)\. .*\. Bring its files back/,
      ],
      ['other', plain(2), /is damaged/],
      [
        'newer',
        plain(1, [10, 64n]),
        /^The manifest of version 1 of newer uses what .* Make this change with Lance/,
      ],
      ['message', fileOf([], [[3, text('one')]]), /is damaged/],
      [
        'outside',
        fileOf(
          [],
          [
            [3, 1n],
            [21, 1n << 50n],
          ],
        ),
        /is damaged/,
      ],
    ]
    for (const [name, manifest, says] of refused) {
      const dataset = await withVersion(catalog, content, name, manifest)
      const before = await pathsOf(content, dataset.prefix)
      const failed = catalog.updateTableSchemaMetadata({ id: [name], metadata: { a: 'b' } })
      await expect(failed).rejects.toMatchObject({
        code: 'InvalidTableState',
        message: expect.stringMatching(says),
      })
      expect(await pathsOf(content, dataset.prefix)).toEqual(before)
      expect(await listed(catalog, name)).toEqual([1])
    }
  })
})

it('a manifest that is too large to be made anew is refused by its size', async () => {
  const real = memoryContent()
  const shared: SharedFiles = Object.assign(Object.create(real.shared!), {
    sync: async () => (256 << 20) + 1,
  })
  const content = contentWith(real, { shared })
  const catalog = closedAfterwards(
    await openCatalog({ store: memoryStore(), content, managedVersioning: true }),
  )
  const large = await declared(catalog, real, 'large')
  await catalog.createTableVersion({ id: ['large'], ...(await large.stage(1, 'of this size')) })
  await expect(catalog.updateTableSchemaMetadata({ id: ['large'], metadata: {} })).rejects.toMatchObject({
    code: 'Unsupported',
    message: expect.stringContaining('268,435,457 bytes'),
  })
})
