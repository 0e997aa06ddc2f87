import { type FileHandle, open } from 'node:fs/promises'
import { CatalogError } from '../tabularium/index.ts'

/** The most bytes at the end of a file that are searched for the last token. The longest line fits. */
const mostTail = 256 * 1024 * 1024
const firstTail = 64 * 1024

/** An append-only file of lines. A line is written whole, or not at all. */
export class AuditFile {
  readonly path: string
  #file: FileHandle
  /** The size of all complete lines, in bytes. */
  #size: number

  private constructor(path: string, file: FileHandle, size: number) {
    this.path = path
    this.#file = file
    this.#size = size
  }

  /** Opens a file, or creates one that only its owner may read. Truncates a partial line that a crash left. */
  static async open(path: string): Promise<{ file: AuditFile; lastToken: string | undefined }> {
    const file = await openToAppend(path)
    try {
      const { size } = await file.stat()
      const { whole, lastToken } = await readEnd(file, size)
      if (whole < size) await file.truncate(whole)
      return { file: new AuditFile(path, file, whole), lastToken }
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Appends lines and syncs them. After a failure the file holds none of them. */
  async append(lines: string): Promise<void> {
    const bytes = Buffer.from(lines)
    try {
      await this.#file.appendFile(bytes)
      await this.#file.datasync()
      this.#size += bytes.length
    } catch (error) {
      await this.#file.truncate(this.#size).catch(() => {})
      throw error
    }
  }

  /** Opens the path again after a log rotation renamed the old file. */
  async reopen(): Promise<void> {
    const file = await openToAppend(this.path)
    const { size } = await file.stat()
    const before = this.#file
    this.#file = file
    this.#size = size
    await before.close()
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

async function openToAppend(path: string): Promise<FileHandle> {
  try {
    // O_APPEND: two servers with the same file do not overwrite each other's lines.
    return await open(path, 'a+', 0o600)
  } catch (cause) {
    throw new CatalogError(
      'InvalidInput',
      `The audit log ${path} cannot be opened (${(cause as NodeJS.ErrnoException).code}). Check the folder and its permissions.`,
      { cause },
    )
  }
}

/** The size of all complete lines in bytes, and the token of the last line that has one. */
async function readEnd(
  file: FileHandle,
  size: number,
): Promise<{ whole: number; lastToken: string | undefined }> {
  if (size === 0) return { whole: 0, lastToken: undefined }
  for (let length = Math.min(size, firstTail); ; length = Math.min(size, length * 16)) {
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length)
    const end = buffer.lastIndexOf('\n') + 1
    const lines = buffer.toString('utf8', 0, end).split('\n')
    // The first piece may be the end of a longer line.
    if (length < size) lines.shift()
    const lastToken = lines.map(tokenIn).findLast((token) => token !== undefined)
    const isAll = length >= Math.min(size, mostTail)
    if ((lastToken !== undefined && end > 0) || isAll)
      return { whole: end === 0 && length < size ? size : size - length + end, lastToken }
  }
}

function tokenIn(line: string): string | undefined {
  try {
    const { token } = JSON.parse(line) as { token?: unknown }
    return typeof token === 'string' ? token : undefined
  } catch {
    return undefined
  }
}
