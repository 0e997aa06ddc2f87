import type { Draw } from '../../../support/draw.ts'
import {
  itemsOf,
  numberOf,
  parseThrift,
  setNumber,
  structIn,
  structsOf,
  type Thrift,
  type ThriftStruct,
  writeThrift,
} from './thrift-tree.ts'

/*
 * Parquet files with damage of one kind, made of sound ones. What a lie does not touch is written anew as it should be,
 * so that a reader comes to the lie.
 */

interface Page {
  header: ThriftStruct
  body: Uint8Array
}

/** A file in its parts: the pages of each column in each row group, and the footer. */
interface Parts {
  readonly chunks: { about: ThriftStruct; pages: Page[] }[]
  readonly footer: ThriftStruct
}

function partsOf(file: Uint8Array): Parts {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  const length = view.getUint32(file.length - 8, true)
  const footer = parseThrift(file, file.length - 8 - length).struct
  const chunks = itemsOf(footer, 4).flatMap((group) =>
    itemsOf(group, 1).map((column) => {
      const about = structIn(column, 3)
      const first = numberOf(about, 11)
      const start = first > 0 ? first : numberOf(about, 9)
      return { about, pages: pagesOf(file, start, start + numberOf(about, 7)) }
    }),
  )
  return { chunks, footer }
}

function pagesOf(file: Uint8Array, start: number, end: number): Page[] {
  const pages: Page[] = []
  for (let at = start; at < end; ) {
    const { struct: header, end: from } = parseThrift(file, at)
    at = from + numberOf(header, 3)
    pages.push({ header, body: file.slice(from, at) })
  }
  return pages
}

const magic = Buffer.from('PAR1')

/** The bytes of a file, with the places of its pages in the footer. `lie` changes the footer after that. */
function joined({ chunks, footer }: Parts, lie: (footer: ThriftStruct) => void = () => {}): Uint8Array {
  const parts: Uint8Array[] = [magic]
  let at = magic.length
  for (const { about, pages } of chunks) {
    const start = at
    let data = 0
    for (const { header, body } of pages) {
      const isDictionary = numberOf(header, 1) === 2
      if (!isDictionary && data === 0) data = at
      const head = writeThrift(header)
      parts.push(head, body)
      at += head.length + body.length
    }
    setNumber(about, 7, at - start)
    setNumber(about, 9, data || start)
    if (about.fields.has(11)) setNumber(about, 11, start)
  }
  lie(footer)
  const end = writeThrift(footer)
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, end.length, true)
  return new Uint8Array(Buffer.concat([...parts, end, length, magic]))
}

/** Numbers that do harm where sizes, counts, offsets and kinds are. */
function liesFor(value: bigint, draw: Draw): bigint {
  return draw.oneOf([
    0n,
    1n,
    value + 1n,
    value - 1n,
    value * 2n,
    value / 2n,
    -1n,
    BigInt(draw.below(16)),
    BigInt(draw.below(2000)),
    2n ** 31n - 1n,
    2n ** 30n,
    2n ** 24n,
    2n ** 53n,
    2n ** 63n - 1n,
    -(2n ** 63n),
  ])
}

/** Changes one field somewhere in a tree. */
function lieIn(tree: ThriftStruct, draw: Draw): string {
  const { struct: of, path } = draw.oneOf(structsOf(tree).filter(({ struct }) => struct.fields.size > 0))
  const [id, value] = draw.oneOf([...of.fields])
  const told = changed(value, draw)
  if (told !== undefined) return `${path}.${id}: ${told}`
  if (draw.chance(0.5)) {
    of.fields.delete(id)
    return `no ${path}.${id}`
  }
  of.fields.delete(id)
  const other = 1 + draw.below(16)
  of.fields.set(other, value)
  return `${path}.${id} as ${other}`
}

/** Changes a value in its place; undefined if it was left as it is. */
function changed(value: Thrift, draw: Draw): string | undefined {
  if (draw.chance(0.15)) return undefined
  if (value.kind === 'number') {
    const before = value.value
    value.value = BigInt.asIntN(value.wire === 6 ? 64 : 32, liesFor(before, draw))
    return `${before} -> ${value.value}`
  }
  if (value.kind === 'bool') {
    value.value = 1 - value.value
    return `now ${value.value}`
  }
  if (value.kind === 'list' && value.items.length > 0) {
    const [at, to] = [draw.below(value.items.length), draw.below(value.items.length)]
    const how = draw.oneOf(['drop', 'double', 'swap'] as const)
    if (how === 'drop') value.items.splice(at, 1)
    else if (how === 'double') value.items.splice(to, 0, value.items[at]!)
    else [value.items[at], value.items[to]] = [value.items[to]!, value.items[at]!]
    return `${how} ${at}, ${to}`
  }
  if ((value.kind === 'binary' || value.kind === 'double') && value.value.length > 0) {
    const at = draw.below(value.value.length)
    value.value = Uint8Array.from(value.value)
    value.value[at] = draw.below(256)
    return `byte ${at} is ${value.value[at]}`
  }
  return undefined
}

/** Makes one kind of damage, and tells which. */
export type Damage = (file: Uint8Array, draw: Draw) => { file: Uint8Array; told: string }

/** A byte where levels, indices and lengths are: the beginning of a body; else any. */
function someByte(body: Uint8Array, draw: Draw): number {
  return draw.below(draw.chance(0.6) ? Math.min(body.length, 24) : body.length)
}

const pick = (parts: Parts, draw: Draw) => {
  const chunk = draw.oneOf(parts.chunks.filter(({ pages }) => pages.length > 0))
  return { chunk, at: draw.below(chunk.pages.length) }
}

export const damages: Readonly<Record<string, Damage>> = {
  /** Bytes beside one another: damage that no reader needs to see must not hide another one. */
  bytes(given, draw) {
    const file = Uint8Array.from(given)
    const from = draw.below(file.length)
    const end = Math.min(file.length, from + 1 + draw.below(4))
    for (let at = from; at < end; at++) file[at] = draw.below(256)
    return { file, told: `bytes ${from} to ${end}` }
  },
  /** The middle of the file is missing, and its end is there. */
  hole(given, draw) {
    const from = draw.below(given.length - 8)
    const to = Math.min(given.length - 8, from + 1 + draw.below(draw.oneOf([4, 100, given.length])))
    return {
      file: new Uint8Array(Buffer.concat([given.subarray(0, from), given.subarray(to)])),
      told: `without ${from} to ${to}`,
    }
  },
  footer(given, draw) {
    const parts = partsOf(given)
    let told = ''
    const file = joined(parts, (footer) => {
      told = lieIn(footer, draw)
    })
    return { file, told: `footer, ${told}` }
  },
  header(given, draw) {
    const parts = partsOf(given)
    const { chunk, at } = pick(parts, draw)
    const told = lieIn(chunk.pages[at]!.header, draw)
    return { file: joined(parts), told: `header of page ${at}, ${told}` }
  },
  /** Levels, indices, lengths and values. */
  body(given, draw) {
    const parts = partsOf(given)
    const { chunk, at } = pick(parts, draw)
    const page = chunk.pages[at]!
    if (page.body.length === 0) return { file: joined(parts), told: 'nothing' }
    const changes = Array.from({ length: 1 + draw.below(3) }, () => {
      const place = someByte(page.body, draw)
      page.body[place] = draw.oneOf([0, 1, 2, 3, 127, 128, 255, page.body[place]! ^ 1, draw.below(256)])
      return `${place} is ${page.body[place]}`
    })
    // A checksum would tell.
    page.header.fields.delete(4)
    return { file: joined(parts), told: `body of page ${at} of ${numberOf(page.header, 1)}: ${changes}` }
  },
  /** A body that is shorter or longer than it was, with a header that knows it. */
  length(given, draw) {
    const parts = partsOf(given)
    const { chunk, at } = pick(parts, draw)
    const page = chunk.pages[at]!
    const isPlain = numberOf(chunk.about, 4) === 0
    const size = draw.below(page.body.length + 9)
    const body = new Uint8Array(size)
    body.set(page.body.subarray(0, size))
    page.body = body
    setNumber(page.header, 3, size)
    if (isPlain) setNumber(page.header, 2, size)
    page.header.fields.delete(4)
    return { file: joined(parts), told: `page ${at} has ${size} bytes` }
  },
  pages(given, draw) {
    const parts = partsOf(given)
    const { chunk, at } = pick(parts, draw)
    const other = pick(parts, draw)
    const how = draw.oneOf(['drop', 'double', 'swap', 'move'] as const)
    const [page, theirs] = [chunk.pages[at]!, other.chunk.pages[other.at]!]
    if (how === 'drop') chunk.pages.splice(at, 1)
    else if (how === 'double') chunk.pages.splice(at, 0, page)
    else {
      other.chunk.pages[other.at] = page
      if (how === 'swap') chunk.pages[at] = theirs
      else chunk.pages.splice(at, 1)
    }
    return { file: joined(parts), told: `${how} page ${at}` }
  },
}
