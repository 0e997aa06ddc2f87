import { type FileHandle, open } from 'node:fs/promises'
import { CatalogError } from '../tabularium/index.ts'

/** How much of the end of a file is searched for the last token. A line of the largest transaction fits. */
const mostTail = 256 * 1024 * 1024
const firstTail = 64 * 1024

/** A file of lines that only grows. A line is there whole, or not at all. */
export class AuditFile {
  readonly path: string
  #file: FileHandle
  /** The bytes of whole lines. */
  #size: number

  private constructor(path: string, file: FileHandle, size: number) {
    this.path = path
    this.#file = file
    this.#size = size
  }

  /** Opens a file, or makes one that only its owner reads. What a crash left of a line is cut off. */
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

  /** Adds lines, and syncs them. When that fails, none of them is there. */
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

  /** Goes on in the file that now has the path: the other one was given another name, to be kept. */
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
    // Appending is up to the system: two servers that were given one file would not write over each other.
    return await open(path, 'a+', 0o600)
  } catch (cause) {
    throw new CatalogError(
      'InvalidInput',
      `The audit log ${path} cannot be opened (${(cause as NodeJS.ErrnoException).code}). Check the folder and its permissions.`,
      { cause },
    )
  }
}

/** The bytes of whole lines, and the token of the last line that has one. */
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
