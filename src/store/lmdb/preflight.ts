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
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { CatalogError } from '../../errors.ts'
import { FileLock } from './file-lock.ts'

/*
 * The driver brings the process down when LMDB cannot open a file. So whatever could stop LMDB is looked for
 * first, and reported with the code LMDB or the system would have used.
 */

/** LMDB's own error numbers. Source: lmdb.h. */
const notLmdb = -30793
const otherVersion = -30794
const corrupted = -30796

/** What each of the first two pages of a data file has at 24. */
const magic = 0xbeefc0de

/** What LMDB needs to begin a data file, with room to spare. */
const leastSpace = 1 << 16

/** Throws when LMDB could not open these files. */
export function checkFiles(dataFile: string, lockFile: string, readOnly: boolean): void {
  const folder = dirname(dataFile)
  const { R_OK, W_OK } = constants
  if (existsSync(dataFile)) {
    if (!statSync(dataFile).isFile()) throw failure('EISDIR', `${dataFile} is no file`)
    accessSync(dataFile, readOnly ? R_OK : R_OK | W_OK)
    checkHeader(dataFile)
  } else {
    accessSync(folder, W_OK)
    if (freeBytes(folder) < leastSpace) throw failure('ENOSPC', `no space left for ${dataFile}`)
  }
  try {
    accessSync(existsSync(lockFile) ? lockFile : folder, W_OK)
  } catch (error) {
    // Readers of what nobody can write need no locks.
    if (!readOnly || (error as NodeJS.ErrnoException).code !== 'EROFS') throw error
  }
}

/**
 * Makes the lock file of a new catalog: a page for the header and a cache line for each reader, as
 * mdb_env_setup_locks lays it out. LMDB would make a file with holes, and a process that writes to a hole
 * through its memory map is killed when the disk is full.
 */
export function reserveLockFile(lockFile: string, readers: number): void {
  // A link makes the file appear whole, and never over one that is in use.
  const temporary = `${lockFile}.${process.pid}-${Math.random().toString(36).slice(2)}`
  try {
    writeFileSync(temporary, Buffer.alloc(4096 + readers * 64), { flag: 'wx' })
    linkSync(temporary, lockFile)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // When the name is taken, or the file system has no links, the file is left to LMDB.
    if (code === 'ENOSPC' || code === 'EDQUOT') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}

/**
 * Refuses to go on while a process has the data file open that takes no turns, one of an older release. LMDB has a
 * lock on the first byte of its lock file for as long as it is open; a system that locks whole files does not tell.
 */
export function requireNoOlderRelease(lockFile: string): void {
  if (!existsSync(lockFile)) return
  const lock = new FileLock(lockFile)
  const isUsed = lock.hasRanges && lock.isLocked({ name: '', start: 0 }, 0, 1, { shared: false })
  lock.close()
  if (isUsed) {
    throw new CatalogError(
      'Unsupported',
      `A process of an older release of Tabularium, or another program, has ${dirname(lockFile)} open, and could lose changes. Close it first.`,
    )
  }
}

/**
 * Removes a data file whose maker was stopped between the two pages it begins with: nothing was ever written to
 * it, and LMDB would not open it. One beside which there is anything else but `own` files is damaged, and stays.
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

/** The space a user has left on the disk that holds `path`. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

/**
 * Checks the two pages a data file begins with. After 16 bytes of page header each holds: at 24 a magic
 * number, at 28 the version, at 48 the page size, at 136 the page of the tree's root, at 152 the number of
 * the transaction that wrote it. Source: MDB_meta in mdb.c, version 2, 64-bit.
 */
function checkHeader(dataFile: string): void {
  const file = openSync(dataFile, 'r')
  try {
    const first = Buffer.alloc(160)
    const read = readSync(file, first, 0, first.length, 0)
    // Whoever made an empty file was stopped before LMDB wrote to it.
    if (read === 0) return
    checkMeta(first, read, dataFile)
    const pageSize = first.readUInt32LE(48)
    const second = Buffer.alloc(160)
    checkMeta(second, readSync(file, second, 0, second.length, pageSize), dataFile)

    const newest = first.readBigUInt64LE(152) > second.readBigUInt64LE(152) ? first : second
    const root = newest.readBigUInt64LE(136)
    const isEmpty = root === 0xffff_ffff_ffff_ffffn
    const needed = isEmpty ? 0n : (root + 1n) * BigInt(pageSize)
    if (BigInt(fstatSync(file).size) < needed) throw failure(corrupted, `${dataFile} is cut short`)
  } finally {
    closeSync(file)
  }
}

function checkMeta(meta: Buffer, read: number, dataFile: string): void {
  if (read < meta.length || meta.readUInt32LE(24) !== magic) {
    throw failure(notLmdb, `${dataFile} is no LMDB file`)
  }
  if (meta.readUInt16LE(28) !== 2) throw failure(otherVersion, `${dataFile} has another version`)
}

function failure(code: string | number, message: string): Error {
  return Object.assign(new Error(message), { code })
}
