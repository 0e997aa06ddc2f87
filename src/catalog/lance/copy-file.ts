import type { Content } from '../../base/content/content.ts'
import { CatalogError } from '../../base/errors.ts'

/** Where a dataset lies. */
export interface DatasetPlace {
  readonly content: Content
  /** The folder within the content, ending in a slash. */
  readonly prefix: string
  /** The URL of the folder. */
  readonly location: string
  /** The URL by which its manifests name it, if the folder was moved, or will be. */
  readonly namedAs?: string
}

/** Most bytes of a file that is copied through memory. */
const mostBytes = 1 << 30
/** How much of one is read at a time. */
const pieceBytes = 64 << 20

interface Target {
  readonly to: DatasetPlace
  readonly target: string
  readonly size: number
}

/** Copies a file of a dataset, and makes it durable. Returns whether it was there. */
export async function copyFile(
  from: DatasetPlace,
  path: string,
  { to, target, size }: Target,
): Promise<boolean> {
  const [source, copy] = [fileOf(from, path), fileOf(to, target)]
  if (source !== undefined && copy !== undefined && to.content.shared?.makeFolder) {
    const { constants, copyFile } = await import('node:fs/promises')
    await to.content.shared.makeFolder(folderOf(to.prefix + target))
    try {
      await copyFile(source, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
      throw new CatalogError(
        'ServiceUnavailable',
        `The file ${target} cannot be written below ${to.location}. Free some space there, or look at its permissions.`,
        { cause: error },
      )
    }
    await to.content.shared.sync(to.prefix + target)
    return true
  }
  if (size > mostBytes) {
    throw new CatalogError(
      'Unsupported',
      `The file ${from.location}/${path} has ${size.toLocaleString('en')} bytes, and one of more than ${mostBytes.toLocaleString('en')} is copied between folders of this machine only. Optimize the table by Lance, into smaller files, or copy it with the tools of its storage.`,
    )
  }
  const parts: Uint8Array[] = []
  for (let start = 0; start < size; start += pieceBytes) {
    const end = Math.min(size, start + pieceBytes)
    const part = await from.content.get(from.prefix + path, { start, end })
    if (part?.length !== end - start) return false
    parts.push(part)
  }
  await to.content.put(to.prefix + target, parts)
  return true
}

/** The path of a file, where that is one of this machine. */
function fileOf({ location }: DatasetPlace, path: string): URL | undefined {
  if (!location.startsWith('file:')) return undefined
  const url = new URL(`${location}/`)
  url.pathname += path.split('/').map(encodeURIComponent).join('/')
  return url
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/') + 1)
