import { accessSync, constants, readFileSync, statfsSync } from 'node:fs'
import { resolve } from 'node:path'

/** The file systems of Linux whose locks and memory maps do not reach other machines. Source: statfs(2). */
const networkTypes: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0x517b, 'SMB'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x564c, 'NCP'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x47504653, 'GPFS'],
])

/** File systems that may or may not be shared by several machines. */
const opaqueTypes: ReadonlyMap<number, string> = new Map([
  [0x65735546, 'FUSE'],
  [0x01021997, '9P'],
])

export interface FileSystem {
  /** The name of the file system, if several machines share it. */
  readonly network: string | undefined
  /** The name of the file system, if several machines may share it. */
  readonly opaque: string | undefined
}

/** The file system of a folder: on Linux by its type number, on Windows by the path of a network share. */
export function fileSystemOf(folder: string): FileSystem {
  if (process.platform === 'win32') {
    return { network: /^\\\\(?![?.]\\)/.test(resolve(folder)) ? 'SMB' : undefined, opaque: undefined }
  }
  if (process.platform !== 'linux') return { network: undefined, opaque: undefined }
  return fileSystemNamed(statfsSync(folder).type)
}

/** The file system with a type number of Linux. */
export function fileSystemNamed(type: number): FileSystem {
  // On some machines, the number is signed.
  return { network: networkTypes.get(type >>> 0), opaque: opaqueTypes.get(type >>> 0) }
}

/** Whether a folder's file system is mounted read-only. */
export function isMountedReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS'
  }
}

/** Whether this user may write a file. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Whether the address space of this process is unlimited (`ulimit -v`). */
export function hasFreeAddressSpace(): boolean {
  if (process.platform === 'darwin') return true
  if (process.platform !== 'linux') return false
  try {
    return /^Max address space\s+unlimited/m.test(readFileSync('/proc/self/limits', 'utf8'))
  } catch {
    return false
  }
}
