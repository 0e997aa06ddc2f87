import { statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileState, Link, Linked, SharedFiles } from '../../base/content/content.ts'
import { folderSegmentsOf, segmentsOf } from '../../base/content/path.ts'
import { fileError, isMissing, systemCode } from './file-errors.ts'
import { type DurableFolders, type RealFolders, syncFolder, unlessMissing } from './folders.ts'
import { RawFile } from './raw-file.ts'
import { quickly } from './slowness.ts'
import { type FileLink, linkFiles, replaceFile } from './write-file.ts'

/** Files below a root that other programs write, too. Links to outside of the root are refused. */
export class SharedFilesOnDisk implements SharedFiles {
  readonly #root: string
  readonly #real: RealFolders
  readonly #folders: DurableFolders

  constructor(root: string, real: RealFolders, folders: DurableFolders) {
    this.#root = root
    this.#real = real
    this.#folders = folders
  }

  names(prefix: string): Promise<readonly string[]> {
    const segments = folderSegmentsOf(prefix)
    return this.#withErrors('list', prefix, async () => {
      const found = await unlessMissing(
        this.#real.use(segments, (folder) => readdir(folder, { withFileTypes: true })),
      )
      return (found ?? []).filter((item) => item.isFile()).map((item) => item.name)
    })
  }

  sync(path: string): Promise<number | undefined> {
    const { folder, name } = splitPath(path)
    return this.#withErrors('sync', path, () =>
      unlessMissing(
        this.#real.use(folder, async (real) => {
          // Both at once take the disk about as long as one.
          const [size] = await Promise.all([syncFile(join(real, name)), syncFolder(real)])
          return size
        }),
      ),
    )
  }

  async link(from: string, to: string): Promise<Linked> {
    const [result] = await this.linkAll([{ from, to }])
    return result!
  }

  async linkAll(links: readonly Link[], onLinked?: () => void): Promise<readonly (Linked | undefined)[]> {
    // All slow work is before the first link, or after the last one.
    const found = await Promise.all(links.map((link) => this.#find(link)))
    const results = await linkFiles(found, onLinked)
    return results.map((result, at) => {
      if (result === undefined) return undefined
      if (result.error === undefined) return 'linked'
      if (isMissing(result.error)) return 'missing'
      if (systemCode(result.error) === 'EEXIST') return 'taken'
      throw fileError('write', join(this.#root, links[at]!.to), result.error)
    })
  }

  /** The real paths of a file to link, and of the folder for its second name, which is created. */
  #find({ from, to }: Link): Promise<FileLink> {
    const source = splitPath(from)
    const target = splitPath(to)
    return this.#withErrors('write', to, async () => {
      const [file, folder] = await Promise.all([
        unlessMissing(this.#real.look([...source.folder, source.name])),
        unlessMissing(this.#real.look(target.folder)),
      ])
      const order = target.folder.join('/')
      // Without a file, no folder is created, and linking fails.
      const from = file ?? join(this.#root, ...source.folder, source.name)
      const made = folder ?? (file === undefined ? this.#root : await this.#make(target.folder))
      return { from, folder: made, name: target.name, order }
    })
  }

  #make(folder: readonly string[]): Promise<string> {
    // Another program may have removed a cached folder.
    this.#folders.forget()
    return this.#folders.make(folder)
  }

  makeFolder(path: string): Promise<void> {
    const folder = folderSegmentsOf(path)
    return this.#withErrors('write', path, async () => {
      await this.#make(folder)
    })
  }

  state(path: string): Promise<FileState | undefined> {
    const isFolder = path.endsWith('/')
    const { folder, name } = isFolder ? { folder: folderSegmentsOf(path), name: '' } : splitPath(path)
    return this.#withErrors('read', path, () =>
      unlessMissing(this.#real.use(folder, (real) => stateOf(join(real, name)))),
    )
  }

  replace(path: string, bytes: Uint8Array): Promise<void> {
    const { folder, name } = splitPath(path)
    return this.#withErrors('write', path, async () => {
      await replaceFile(await this.#make(folder), name, [bytes])
    })
  }

  async #withErrors<T>(action: string, path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw fileError(action, join(this.#root, path), error)
    }
  }
}

function splitPath(path: string): { folder: string[]; name: string } {
  const folder = segmentsOf(path)
  return { name: folder.pop()!, folder }
}

/** How long a clock of files may stand still, where it tells parts of a microsecond: systems count in such ticks. */
const tickMillis = 50
/** The same elsewhere: some file systems tell every second one. */
const coarseMillis = 2_500

async function stateOf(file: string): Promise<FileState | undefined> {
  // An error of a missing file takes longer than the answer.
  const found = await quickly(
    () => statSync(file, { bigint: true, throwIfNoEntry: false }),
    () => stat(file, { bigint: true }),
  )
  if (found === undefined) return undefined
  const { dev, ino, size, mtimeNs, ctimeNs } = found
  const isFine = mtimeNs % 1_000n !== 0n || ctimeNs % 1_000n !== 0n
  return { text: `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`, millis: isFine ? tickMillis : coarseMillis }
}

/** Syncs a file, and returns its size. */
async function syncFile(file: string): Promise<number> {
  // Windows syncs only files that are open for writing.
  const opened = await RawFile.open(file, process.platform === 'win32' ? 'r+' : 'r')
  try {
    await opened.sync()
    return opened.size
  } finally {
    opened.close()
  }
}
