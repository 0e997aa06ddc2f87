import { type FileHandle, open } from 'node:fs/promises'
import type { InspectOptions, Key, StoreInspection } from '../../base/store/store.ts'
import { nextTurn } from '../../base/time.ts'
import { stateKey } from './access.ts'
import { loadDriver } from './driver.ts'
import { sealFault } from './encode-value.ts'
import {
  freeRuns,
  headerBytes,
  isPageSize,
  type Meta,
  type Node,
  number64,
  pageFlags,
  readMeta,
  readNodes,
  type TreeMeta,
} from './page.ts'

/*
 * Looks for damage in a data file by reading it page by page. It uses no memory map, through which a damaged page could
 * crash the process. Every page must match its parent page, and must be either in use or free. Every record must match
 * its checksum. LMDB never reads the parts that are not inspected: free pages and gaps within pages.
 */

/** The most reported findings; in a file with more damage, further ones add nothing. */
const maxDamage = 100
/** After this many pages, the inspection yields to the event loop. */
const pagesPerTurn = 64

/** The driver's functions for keys that its types leave out. */
interface KeyCodec {
  bufferToKeyValue(bytes: Buffer): unknown
  keyValueToBuffer(key: unknown): Buffer
}

class Damaged extends Error {}

/**
 * Inspects a data file. While other processes write, the caller should keep a read transaction open, so that LMDB does
 * not reuse pages of the newest snapshot. Otherwise `moved` means that the damage may be a reused page.
 */
export async function inspectFile(
  path: string,
  { signal, onProgress }: InspectOptions = {},
): Promise<StoreInspection & { moved: boolean }> {
  const file = await open(path, 'r')
  try {
    const metas = await stableMetas(file)
    const faults = metaFaults(metas)
    if (faults.length > 0) return { damage: faults, records: 0, unsealed: 0, moved: false }
    const meta = newestOf(metas as readonly Meta[])
    const walk = new Walk(file, meta, loadDriver() as unknown as KeyCodec, signal, onProgress)
    if (await hasWrongTransaction(file, metas as readonly Meta[])) walk.damage.push(disagreement)
    else await walk.whole()
    const after = await stableMetas(file)
    const moved =
      walk.damage.length > 0 && newestOf(after as readonly Meta[])?.transaction !== meta.transaction
    return { damage: walk.damage, records: walk.records, unsealed: walk.unsealed, moved }
  } finally {
    await file.close()
  }
}

function newestOf(metas: readonly Meta[]): Meta {
  return metas[1]!.transaction > metas[0]!.transaction ? metas[1]! : metas[0]!
}

/** Both meta pages, read when no process is writing them. */
async function stableMetas(file: FileHandle): Promise<readonly (Meta | string)[]> {
  for (let attempt = 0; ; attempt++) {
    const first = await readMetas(file)
    const second = await readMetas(file)
    if (attempt === 20 || JSON.stringify(first) === JSON.stringify(second)) return second
  }
}

async function readMetas(file: FileHandle): Promise<(Meta | string)[]> {
  const head = Buffer.alloc(headerBytes + 152)
  if ((await file.read(head, 0, head.length, 0)).bytesRead < head.length)
    return ['is cut short', 'is cut short']
  const first = readMeta(head, 0)
  // The first page has the page size, and so the offset of the second. When it is damaged, the usual page size is used.
  const pageSize = typeof first === 'string' || !isPageSize(first.pageSize) ? 4096 : first.pageSize
  const { bytesRead } = await file.read(head, 0, head.length, pageSize)
  return [first, bytesRead < head.length ? 'is cut short' : readMeta(head, 1)]
}

/**
 * Whether the roots of the records say that a meta page has a wrong transaction. A wrong bit may give a meta page the
 * number before that of the other one, or the number after it. Then the last commit, or another, seems not to have been.
 */
async function hasWrongTransaction(file: FileHandle, metas: readonly Meta[]): Promise<boolean> {
  const newest = newestOf(metas)
  const older = metas.find((meta) => meta !== newest)!
  const [last, before] = [await rootTransaction(file, newest), await rootTransaction(file, older)]
  if (last === undefined || before === undefined) return false
  // A commit that changes a tree makes a new root.
  return last > newest.transaction || before > older.transaction || last < before
}

/** The transaction that wrote the root of the records, if there are any. */
async function rootTransaction(file: FileHandle, { main, pageSize }: Meta): Promise<number | undefined> {
  const head = Buffer.alloc(headerBytes)
  if (main.root === undefined) return undefined
  const { bytesRead } = await file.read(head, 0, head.length, main.root * pageSize)
  return bytesRead < head.length ? undefined : number64(head, 8)
}

const disagreement = 'pages 0 and 1 disagree on which transaction was the last'

/** What is wrong with the first two pages of a data file. */
function metaFaults(metas: readonly (Meta | string)[]): string[] {
  const faults = metas.flatMap((meta, i) => (typeof meta === 'string' ? [`page ${i} ${meta}`] : []))
  if (faults.length > 0) return faults
  const [a, b] = metas as [Meta, Meta]
  if (a.pageSize !== b.pageSize || !isPageSize(a.pageSize)) return ['pages 0 and 1 have wrong page sizes']
  // Commits alternate between the two pages. In a copy without any commit since, one of them is empty.
  const isNew = isEmpty(a) && (isEmpty(b) || b.transaction > 0)
  if (!isNew && (a.transaction % 2 !== 0 || Math.abs(a.transaction - b.transaction) !== 1)) {
    return [disagreement]
  }
  const newest = newestOf([a, b])
  if (newest.main.flags !== 0 || a.free.flags !== b.free.flags) return ['page 0 or 1 has wrong flags']
  if (newest.mapSize < (newest.lastPage + 1) * newest.pageSize)
    return ['page 0 or 1 has a wrong size of the map']
  return []
}

function isEmpty({ transaction, main, free }: Meta): boolean {
  return transaction === 0 && main.root === undefined && free.root === undefined
}

class Walk {
  readonly damage: string[] = []
  records = 0
  unsealed = 0
  readonly #file: FileHandle
  readonly #meta: Meta
  readonly #keys: KeyCodec
  readonly #signal: AbortSignal | undefined
  readonly #onProgress: InspectOptions['onProgress']
  /** A bit for each page in use, and for each free page. */
  readonly #used: Uint8Array
  readonly #free: Uint8Array
  #pages = 0

  constructor(
    file: FileHandle,
    meta: Meta,
    keys: KeyCodec,
    signal: AbortSignal | undefined,
    onProgress: InspectOptions['onProgress'],
  ) {
    this.#file = file
    this.#meta = meta
    this.#keys = keys
    this.#signal = signal
    this.#onProgress = onProgress
    // LMDB cannot have written pages beyond the map.
    const pages = Math.min(meta.lastPage + 1, meta.mapSize / meta.pageSize)
    this.#used = new Uint8Array(Math.ceil(pages / 8))
    this.#free = new Uint8Array(this.#used.length)
  }

  async whole(): Promise<void> {
    await this.#guarded(() =>
      this.#tree('record', this.#meta.main, (node, value) => this.#record(node, value)),
    )
    await this.#guarded(() =>
      this.#tree('free list', this.#meta.free, (node, value) => this.#freed(node, value)),
    )
    for (let i = 0; i < this.#used.length; i++) {
      const both = this.#used[i]! & this.#free[i]!
      if (both !== 0)
        this.#report(`page ${i * 8 + Math.log2(both & -both)} is in use and in the list of free pages`)
    }
  }

  /** Reports the damage of a subtree, and goes on with the next one. */
  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof Damaged)) throw error
      this.#report(error.message)
    }
  }

  #report(finding: string): void {
    if (this.damage.length < maxDamage) this.damage.push(finding)
  }

  async #tree(what: string, tree: TreeMeta, visit: (node: Node, value: Buffer) => void): Promise<void> {
    const found = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 }
    const compare = tree === this.#meta.free ? compareNumbers : Buffer.compare

    const walk = async (at: number, depth: number, from?: Buffer, to?: Buffer): Promise<void> => {
      const isLeaf = depth === tree.depth
      const page = await this.#page(at, isLeaf ? pageFlags.leaf : pageFlags.branch)
      const nodes = readNodes(page, isLeaf)
      if (typeof nodes === 'string') throw new Damaged(`page ${at} ${nodes}`)
      found[isLeaf ? 'leafPages' : 'branchPages']++
      for (const [i, node] of nodes.entries()) {
        // LMDB ignores the first key of a branch page: its first child begins where the branch page does.
        const before = i > (isLeaf ? 0 : 1) ? nodes[i - 1]!.key : undefined
        const isFirst = !isLeaf && i === 0
        const inOrder = before === undefined || compare(before, node.key) < 0
        const inRange = (!from || compare(from, node.key) <= 0) && (!to || compare(node.key, to) < 0)
        if (!isFirst && !(inOrder && inRange)) throw new Damaged(`page ${at} has keys in a wrong order`)
        if (isLeaf) {
          found.entries++
          visit(node, node.isLarge ? await this.#large(at, node, found) : node.value)
        } else {
          const lower = isFirst ? from : node.key
          await this.#guarded(() => walk(node.child, depth + 1, lower, nodes[i + 1]?.key ?? to))
        }
      }
    }

    const before = this.damage.length
    if ((tree.root === undefined) !== (tree.depth === 0) || tree.depth > 32) {
      throw new Damaged(`the ${what} tree has a wrong depth`)
    }
    if (tree.root !== undefined) await this.#guarded(() => walk(tree.root!, 1))
    if (this.damage.length > before) return
    for (const [name, count] of Object.entries(found)) {
      const expected = tree[name as keyof typeof found]
      if (count !== expected) {
        throw new Damaged(`the ${what} tree has ${count} ${words(name)} where ${expected} should be`)
      }
    }
  }

  /** Reads a page of a given type. Each page may be in use only once. */
  async #page(at: number, flags: number): Promise<Buffer> {
    this.#use(at)
    const page = await this.#read(at, Buffer.allocUnsafe(this.#meta.pageSize))
    this.#check(page, at, flags)
    if (++this.#pages % pagesPerTurn === 0) {
      this.#signal?.throwIfAborted()
      this.#onProgress?.({ done: this.#pages, total: this.#meta.lastPage + 1 })
      await nextTurn()
    }
    return page
  }

  #check(page: Buffer, at: number, flags: number): void {
    const isRight =
      number64(page, 0) === at &&
      number64(page, 8) <= this.#meta.transaction &&
      page.readUInt16LE(18) === flags
    if (!isRight) throw new Damaged(`page ${at} has a wrong header`)
  }

  /** Reads a value on overflow pages. */
  async #large(at: number, node: Node, found: { overflowPages: number }): Promise<Buffer> {
    const first = number64(node.value, 0)
    const pages = number64(node.value, 16)
    // There may be spare pages, left from a longer value.
    if (
      !(pages >= Math.ceil((headerBytes + node.size) / this.#meta.pageSize) && pages <= this.#meta.lastPage)
    ) {
      throw new Damaged(`page ${at} has a value of a wrong length`)
    }
    for (let i = 0; i < pages; i++) this.#use(first + i)
    const bytes = await this.#read(first, Buffer.allocUnsafe(pages * this.#meta.pageSize))
    this.#check(bytes, first, pageFlags.overflow)
    if (bytes.readUInt32LE(20) !== pages)
      throw new Damaged(`page ${first}, named on page ${at}, has a wrong length`)
    found.overflowPages += pages
    return bytes.subarray(headerBytes, headerBytes + node.size)
  }

  async #read(at: number, into: Buffer): Promise<Buffer> {
    const { bytesRead } = await this.#file.read(into, 0, into.length, at * this.#meta.pageSize)
    // The file may end right after the last value, within its page.
    if (bytesRead < into.length && at * this.#meta.pageSize + into.length <= (await this.#file.stat()).size) {
      return this.#read(at, into)
    }
    if (bytesRead < headerBytes) throw new Damaged(`page ${at} is cut off`)
    return into.fill(0, bytesRead)
  }

  #use(at: number): void {
    if (!(at >= 2 && at <= this.#meta.lastPage))
      throw new Damaged(`page ${at} is referred to and cannot exist`)
    if (mark(this.#used, at)) throw new Damaged(`page ${at} is used twice`)
  }

  #record({ key }: Node, value: Buffer): void {
    this.records++
    const parts = this.#partsOf(key)
    if (parts === undefined) {
      this.#report(`a record has the key ${key.toString('hex')}, which no catalog writes`)
      return
    }
    const fault = sealFault(parts, value)
    if (fault === 'unsealed') this.unsealed++
    if (fault === 'damaged') {
      this.#report(`the record ${JSON.stringify(parts)} differs from its checksum`)
    }
  }

  /**
   * The parts of a key, or undefined if no catalog writes it. The driver decodes damaged bytes as buffers, big integers
   * and more. It also ignores bits, so that a lookup of the key would miss a record that a range has.
   */
  #partsOf(key: Buffer): Key | undefined {
    try {
      const decoded = this.#keys.bufferToKeyValue(Buffer.from(key))
      const parts = Array.isArray(decoded) ? decoded : [decoded]
      const isKey = decoded === stateKey || parts.every(isPart)
      return isKey && this.#keys.keyValueToBuffer(decoded).equals(key) ? parts : undefined
    } catch {
      return undefined
    }
  }

  #freed(_node: Node, value: Buffer): void {
    const runs = freeRuns(value)
    if (runs === undefined) throw new Damaged('the list of free pages is malformed')
    for (const [first, length] of runs) {
      if (!(first >= 2 && first + length - 1 <= this.#meta.lastPage)) {
        throw new Damaged(`the list of free pages names page ${first}, which cannot exist`)
      }
      for (let at = first; at < first + length; at++) {
        if (mark(this.#free, at)) throw new Damaged(`page ${at} is in the list of free pages twice`)
      }
    }
  }
}

function isPart(part: unknown): boolean {
  return typeof part === 'string' || Number.isFinite(part)
}

/** Sets a bit, and returns whether it was already set. */
function mark(bits: Uint8Array, at: number): boolean {
  const bit = 1 << (at & 7)
  const was = (bits[at >>> 3]! & bit) !== 0
  bits[at >>> 3]! |= bit
  return was
}

/** The keys of the free list are transaction numbers. */
function compareNumbers(a: Buffer, b: Buffer): number {
  if (a.length !== 8 || b.length !== 8) throw new Damaged('the list of free pages has a wrong key')
  return number64(a, 0) - number64(b, 0)
}

function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
