import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { unsupported } from '../../base/errors.ts'
import { freeBytes } from '../../base/scheduling/free-space.ts'
import { FileLock } from './file-lock.ts'
import { isPageSize, type Meta, number64, pageFlags, readMeta, readNodes, type TreeMeta } from './page.ts'

/*
 * The driver crashes the process when LMDB cannot open a file. So these checks look for every possible reason first,
 * and report it with the code of LMDB or the system.
 */

/** LMDB's own error numbers. Source: lmdb.h. */
const notLmdb = -30793
const otherVersion = -30794
const corrupted = -30796

/** The magic number at offset 24 of the first two pages of a data file. */
const magic = 0xbeefc0de

/** The space that LMDB needs for a new data file, with some reserve. */
const minSpace = 1 << 16

/** Throws when LMDB could not open these files. */
export function checkFiles(dataFile: string, lockFile: string, readOnly: boolean): void {
  const folder = dirname(dataFile)
  const { R_OK, W_OK } = constants
  if (existsSync(dataFile)) {
    if (!statSync(dataFile).isFile()) throw failure('EISDIR', `${dataFile} is not a file`)
    accessSync(dataFile, readOnly ? R_OK : R_OK | W_OK)
    checkPages(dataFile)
  } else {
    accessSync(folder, W_OK)
    if (freeBytes(folder) < minSpace) throw failure('ENOSPC', `no space left for ${dataFile}`)
  }
  try {
    accessSync(existsSync(lockFile) ? lockFile : folder, W_OK)
  } catch (error) {
    // A reader that cannot take locks keeps writers away instead: see `excludeWriters`.
    const { code } = error as NodeJS.ErrnoException
    if (!readOnly || (code !== 'EROFS' && code !== 'EACCES')) throw error
  }
}

/**
 * Creates the lock file of a new catalog: a page for the header and a cache line for each reader, in the layout of
 * mdb_env_setup_locks. LMDB itself would create a sparse file. When the disk is full, a process that writes to a hole
 * of it through its memory map is killed.
 */
export function reserveLockFile(lockFile: string, readers: number): void {
  // A link makes the complete file appear at once, and never replaces a file in use.
  const temporary = `${lockFile}.${process.pid}-${Math.random().toString(36).slice(2)}`
  try {
    writeFileSync(temporary, Buffer.alloc(4096 + readers * 64), { flag: 'wx' })
    linkSync(temporary, lockFile)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // When the name is taken, or the file system has no links, LMDB creates the file.
    if (code === 'ENOSPC' || code === 'EDQUOT') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}

/**
 * Fails while a process that does not use the store's lock, such as one of an older release, has the data file open.
 * LMDB locks the first byte of its lock file while a file is open. With whole-file locks, this cannot be checked.
 */
export function requireNoOlderRelease(lockFile: string): void {
  if (!existsSync(lockFile)) return
  const lock = new FileLock(lockFile)
  const isUsed = lock.hasRanges && lock.isLocked({ name: '', start: 0 }, 0, 1, { shared: false })
  lock.close()
  if (isUsed) {
    throw unsupported(
      `A process of an older release of Tabularium, or another program, has ${dirname(lockFile)} open, and could lose changes.`,
      'Close it first.',
    )
  }
}

/**
 * Removes a data file whose creator died between the writes of its first two pages. It never had a record, and LMDB
 * would not open it. Beside other files than `own`, such a file counts as damaged and stays.
 */
export function removeUnfinished(dataFile: string, own: readonly string[]): void {
  if (!existsSync(dataFile)) return
  const file = openSync(dataFile, 'r')
  try {
    const meta = Buffer.alloc(160)
    const { size } = fstatSync(file)
    if (readSync(file, meta, 0, meta.length, 0) < meta.length || meta.readUInt32LE(24) !== magic) return
    if (size >= 2 * meta.readUInt32LE(48) || meta.readBigUInt64LE(152) !== 0n) return
  } finally {
    closeSync(file)
  }
  if (readdirSync(dirname(dataFile)).every((name) => own.includes(name))) rmSync(dataFile)
}

/**
 * Checks the first two pages of a data file, and the upper pages of its trees. A damaged one would make LMDB crash the
 * process when it opens the file, or soon after.
 */
function checkPages(dataFile: string): void {
  const file = openSync(dataFile, 'r')
  try {
    const head = Buffer.alloc(160)
    const read = readSync(file, head, 0, head.length, 0)
    // An empty file is valid: its creator died before LMDB wrote to it.
    if (read === 0) return
    const first = checkMeta(head, read, 0, dataFile)
    const second = checkMeta(head, readSync(file, head, 0, head.length, first.pageSize), 1, dataFile)
    const meta = second.transaction > first.transaction ? second : first
    const fault =
      second.pageSize === first.pageSize ? topPagesFault(file, meta) : 'has pages of different sizes'
    if (fault !== undefined) throw failure(corrupted, `${dataFile} ${fault}`)
  } finally {
    closeSync(file)
  }
}

function checkMeta(head: Buffer, read: number, index: number, dataFile: string): Meta {
  if (read < head.length || head.readUInt32LE(24) !== magic) {
    throw failure(notLmdb, `${dataFile} is not an LMDB file`)
  }
  if (head.readUInt16LE(28) !== 2) throw failure(otherVersion, `${dataFile} has another version`)
  const meta = readMeta(head, index)
  if (typeof meta === 'string') throw failure(corrupted, `${dataFile}: page ${index} ${meta}`)
  if (!isPageSize(meta.pageSize)) throw failure(corrupted, `${dataFile} has a wrong page size`)
  return meta
}

function failure(code: string | number, message: string): Error {
  return Object.assign(new Error(message), { code })
}

/**
 * The most pages of each tree that are checked. They include all pages of a small store, and those of a large one that
 * every access begins with. Reading them takes less than a millisecond.
 */
const maxPages = 64

/** What is wrong with the upper pages of the two trees of a data file; undefined when nothing is. */
function topPagesFault(file: number, meta: Meta): string | undefined {
  return treeFault(file, meta, meta.main) ?? treeFault(file, meta, meta.free)
}

function treeFault(file: number, meta: Meta, { root, depth }: TreeMeta): string | undefined {
  if ((root === undefined) !== (depth === 0) || depth > 32) return 'has a tree of a wrong depth'
  if (root === undefined) return undefined
  const page = Buffer.alloc(meta.pageSize)
  const pending = [{ at: root, level: 1 }]
  for (let checked = 0; checked < maxPages && pending.length > 0; checked++) {
    const { at, level } = pending.shift()!
    if (!(at >= 2 && at <= meta.lastPage)) return `refers to page ${at}, which cannot exist`
    const read = readSync(file, page, 0, page.length, at * page.length)
    // The file may end within its last page.
    page.fill(0, read)
    const isLeaf = level === depth
    const flags = isLeaf ? pageFlags.leaf : pageFlags.branch
    if (number64(page, 0) !== at || page.readUInt16LE(18) !== flags) return `has a wrong header on page ${at}`
    const nodes = readNodes(page, isLeaf)
    if (typeof nodes === 'string') return `has a page ${at} that ${nodes}`
    if (nodes.length === 0) return `has an empty page ${at}`
    for (const { child, value, isLarge } of nodes) {
      if (!isLeaf) pending.push({ at: child, level: level + 1 })
      else if (isLarge && !isLargeInside(value, meta)) return `has a value on page ${at} of a wrong length`
    }
  }
  return undefined
}

function isLargeInside(value: Buffer, { lastPage }: Meta): boolean {
  const first = number64(value, 0)
  const pages = number64(value, 16)
  return first >= 2 && pages >= 1 && first + pages - 1 <= lastPage
}
