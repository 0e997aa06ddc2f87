/*
 * The pages of an LMDB data file, version 2, 64 bit, as bytes. Source: MDB_page, MDB_meta, MDB_db and MDB_node
 * in mdb.c, and mdb_midl_print in midl.c of the driver's LMDB.
 */

export const headerBytes = 24
export const nodeBytes = 8

/** A reference to overflow pages: the first page, the transaction that wrote it, and the number of pages. */
const largeBytes = 24

export const pageFlags = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const

/** The root page number of an empty tree. */
const noPage = 0xffff_ffff_ffff_ffffn

/** One of the two trees of a file: the free pages, or the records. */
export interface TreeMeta {
  readonly flags: number
  readonly depth: number
  readonly branchPages: number
  readonly leafPages: number
  readonly overflowPages: number
  readonly entries: number
  /** Undefined when the tree is empty. */
  readonly root: number | undefined
}

export interface Meta {
  readonly pageSize: number
  readonly mapSize: number
  readonly free: TreeMeta
  readonly main: TreeMeta
  readonly lastPage: number
  readonly transaction: number
}

export function number64(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at))
}

export function isPageSize(size: number): boolean {
  return size >= 512 && size <= 65_536 && (size & (size - 1)) === 0
}

/** Reads a meta page, or returns why it is invalid. */
export function readMeta(page: Buffer, index: number): Meta | string {
  if (number64(page, 0) !== index || page.readUInt16LE(18) !== pageFlags.meta) return 'has a wrong header'
  if (page.readUInt32LE(24) !== 0xbeefc0de) return 'has a wrong magic number'
  if (page.readUInt16LE(28) !== 2) return 'has another format'
  return {
    pageSize: page.readUInt32LE(48),
    mapSize: number64(page, 40),
    free: readTree(page, 48),
    main: readTree(page, 96),
    lastPage: number64(page, 144),
    transaction: number64(page, 152),
  }
}

function readTree(page: Buffer, at: number): TreeMeta {
  const root = page.readBigUInt64LE(at + 40)
  return {
    flags: page.readUInt16LE(at + 4),
    depth: page.readUInt16LE(at + 6),
    branchPages: number64(page, at + 8),
    leafPages: number64(page, at + 16),
    overflowPages: number64(page, at + 24),
    entries: number64(page, at + 32),
    root: root === noPage ? undefined : Number(root),
  }
}

/** An entry of a branch or leaf page. */
export interface Node {
  readonly key: Buffer
  /** On a branch page: the child page. */
  readonly child: number
  /** On a leaf page: the bytes of the value, or a reference to overflow pages. */
  readonly value: Buffer
  readonly size: number
  readonly isLarge: boolean
}

/** The entries of a branch or leaf page, or what is wrong with their layout. */
export function readNodes(page: Buffer, isLeaf: boolean): Node[] | string {
  const lower = page.readUInt16LE(20)
  const upper = page.readUInt16LE(22)
  const room = page.length - headerBytes
  if (lower % 2 !== 0 || lower > upper || upper > room) return 'has wrong bounds'
  const nodes: Node[] = []
  let taken = 0
  for (let i = 0; i < lower / 2; i++) {
    const at = page.readUInt16LE(headerBytes + i * 2)
    if (at < upper || at + nodeBytes > room) return `has entry ${i} outside of its bounds`
    const node = readNode(page, headerBytes + at, isLeaf)
    if (typeof node === 'string') return `has entry ${i} that ${node}`
    nodes.push(node)
    taken += (nodeBytes + node.key.length + node.value.length + 1) & ~1
  }
  // Entries leave no gaps. So a wrong sum shows an entry that is missing, duplicated or of a wrong length.
  return taken === room - upper ? nodes : 'has entries of a wrong length'
}

function readNode(page: Buffer, at: number, isLeaf: boolean): Node | string {
  const low = page.readUInt16LE(at) + page.readUInt16LE(at + 2) * 0x1_0000
  const flags = page.readUInt16LE(at + 4)
  const keySize = page.readUInt16LE(at + 6)
  const start = at + nodeBytes
  if (isLeaf && flags > 1) return 'has unknown flags'
  const isLarge = isLeaf && flags === 1
  const valueSize = isLarge ? largeBytes : isLeaf ? low : 0
  const end = start + keySize + valueSize
  if (end > page.length) return 'is longer than the page'
  return {
    key: page.subarray(start, start + keySize),
    child: isLeaf ? 0 : low + flags * 0x1_0000_0000,
    value: page.subarray(start + keySize, end),
    size: low,
    isLarge,
  }
}

/**
 * The runs of pages in a record of the free list, or undefined when the record is malformed. The record is a count
 * and then page numbers. A negative number is the length of a run that begins at the next number; zero is ignored.
 */
export function freeRuns(value: Buffer): [first: number, length: number][] | undefined {
  const count = value.length >= 8 ? number64(value, 0) : -1
  if (count < 0 || value.length < (count + 1) * 8) return undefined
  const runs: [number, number][] = []
  for (let i = 1; i <= count; i++) {
    const entry = Number(value.readBigInt64LE(i * 8))
    if (entry === 0) continue
    if (entry > 0) {
      runs.push([entry, 1])
      continue
    }
    if (++i > count) return undefined
    runs.push([Number(value.readBigInt64LE(i * 8)), -entry])
  }
  return runs
}
